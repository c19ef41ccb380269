"""Arguments of `halo-weave doctor` and `halo-weave settings`."""

import argparse
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import add_command, add_json_flag, with_settings

if TYPE_CHECKING:
    from halo_weave.config import Settings


def add_doctor_command(commands: Any, flags: argparse.ArgumentParser) -> None:
    doctor = add_command(
        commands, "doctor", with_settings(_doctor), "check the installation and report whether a chat works", [flags]
    )
    add_json_flag(doctor)


def _doctor(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import doctor

    return doctor.run(settings, as_json=arguments.json)


def add_settings_command(commands: Any, flags: argparse.ArgumentParser) -> None:
    settings = add_command(
        commands,
        "settings",
        with_settings(_settings),
        "list all settings with their values and allowed ranges",
        [flags],
    )
    add_json_flag(settings)


def _settings(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal import listing

    listing.write_settings(settings, as_json=arguments.json)
    return 0
