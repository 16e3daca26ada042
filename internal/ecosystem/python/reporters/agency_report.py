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
    """Measures a few files in passing, or everything with coverage.py, where it
    is installed, and writes lcov."""

    def __init__(self, lines=None):
        self.out, self.cov = os.environ.pop("AGENCY_COVERAGE", ""), None
        listed = os.environ.pop("AGENCY_LINES", "")
        if self.out and listed:
            self.cov = lines(listed, self.out)
        elif self.out:
            try:
                import coverage
            except ImportError:
                return
            self.cov = coverage.Coverage(data_file=None, source=[os.getcwd()])
            self.cov.start()

    def end(self):
        cov, self.cov = self.cov, None
        if hasattr(cov, "files"):
            cov.end()
        elif cov is not None:
            cov.stop()
            self.write(cov)

    def write(self, cov):
        lines = []
        for file in sorted(cov.get_data().measured_files()):
            try:
                _, can, _, missed, _ = cov.analysis2(file)
            except Exception:  # no source, or none of Python
                continue
            lines.append("SF:" + file)
            lines.extend("DA:%d,%d" % (n, 0 if n in set(missed) else 1) for n in can)
            lines.append("end_of_record")
        with open(self.out, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
