"""`python3 apps/report …` is `apps/report/report.py …`."""

from report import main

main()
