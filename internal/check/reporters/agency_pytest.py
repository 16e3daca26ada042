"""A pytest plugin that writes one JSON line a result into a file."""
import json
import os

_BASE = os.environ.pop("AGENCY_REPORT", "")  # what is tested need not know


class _Coverage(object):
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


_COVERAGE = _Coverage()


def _put(record):
    with open("%s-%d.ndjson" % (_BASE, os.getpid()), "a", encoding="utf-8") as f:
        f.write(json.dumps(record) + "\n")


def _text(report):
    try:
        return str(report.longreprtext)[-4096:]
    except Exception:  # a plugin's own report
        return str(getattr(report, "longrepr", ""))[-4096:]


class _Reporter(object):
    def __init__(self, config):
        self.root = str(getattr(config, "rootpath", None) or getattr(config, "rootdir", "."))
        self.seen = {}

    def split(self, nodeid):
        file, _, rest = nodeid.partition("::")
        return os.path.normpath(os.path.join(self.root, file)), rest

    def put(self, nodeid, status, out=""):
        file, rest = self.split(nodeid)
        _put({"file": file, "id": rest, "status": status, "out": out})

    def pytest_collectreport(self, report):
        if report.failed:
            self.put(report.nodeid.partition("::")[0], "failed", _text(report))

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.put(report.nodeid, "failed", _text(report))
        elif report.when == "call" or report.skipped:
            xfailed = hasattr(report, "wasxfail")
            self.put(report.nodeid, "skipped" if report.skipped or xfailed else "passed")

    def pytest_sessionfinish(self, session):
        _put({"end": True})
        _COVERAGE.end()


def pytest_configure(config):
    if _BASE and not hasattr(config, "workerinput"):
        _put({"begin": True})
        config.pluginmanager.register(_Reporter(config), "agency-reporter")
