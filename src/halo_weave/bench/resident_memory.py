"""The resident memory of this process, including touched pages of mapped files."""

from pathlib import Path

_STATUS = Path("/proc/self/status")


def resident_mb() -> float:
    """Return the resident memory now; where the system does not tell, its peak so far."""
    return _status_mb("VmRSS:") if _STATUS.exists() else _peak_mb_elsewhere()


def peak_resident_mb() -> float:
    return _status_mb("VmHWM:") if _STATUS.exists() else _peak_mb_elsewhere()


def _status_mb(name: str) -> float:
    (line,) = (line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def _peak_mb_elsewhere() -> float:
    try:
        import resource
    except ImportError:
        return float("nan")  # Windows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
