"""What the reporters of pytest and unittest share: where they write, and the
coverage that they measure on the way."""
import json
import os

_BASE = os.environ.pop("AGENCY_REPORT", "")  # what is tested need not know


def asked():
    return bool(_BASE)


def put(**record):
    """Writes one JSON line into a file of this process."""
    if _BASE:
        with open("%s-%d.ndjson" % (_BASE, os.getpid()), "a", encoding="utf-8") as f:
            f.write(json.dumps(record) + "\n")


class Coverage(object):
    """Measures with coverage.py, where it is installed, and writes lcov."""

    def __init__(self):
        self.out, self.cov = os.environ.pop("AGENCY_COVERAGE", ""), None
        if self.out:
            try:
                import coverage
            except ImportError:
                return
            self.cov = coverage.Coverage(data_file=None, source=[os.getcwd()])
            self.cov.start()

    def end(self):
        if self.cov is None:
            return
        self.cov.stop()
        lines = []
        data = self.cov.get_data()
        for file in sorted(data.measured_files()):
            try:
                _, can, _, missed, _ = self.cov.analysis2(file)
            except Exception:  # no source, or none of Python
                continue
            lines.append("SF:" + file)
            lines.extend("DA:%d,%d" % (n, 0 if n in set(missed) else 1) for n in can)
            lines.append("end_of_record")
        with open(self.out, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        self.cov = None
