from halo_weave.cli import main

raise SystemExit(main())
