"""A pytest plugin that writes one JSON line a result into a file."""
import importlib.util
import os


def _ours(name):
    """A module by its place: one of the repository may come first by its name."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(__file__), name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


agency_report = _ours("agency_report")
_COVERAGE = agency_report.Coverage(lambda *args: _ours("agency_lines").Lines(*args))


def _text(report):
    try:
        return str(report.longreprtext)[-4096:]
    except Exception:  # a plugin's own report
        return str(getattr(report, "longrepr", ""))[-4096:]


class _Reporter(object):
    def __init__(self, config):
        self.root = str(getattr(config, "rootpath", None) or getattr(config, "rootdir", "."))

    def put(self, nodeid, status, out=""):
        file, _, rest = nodeid.partition("::")
        agency_report.put(file=os.path.normpath(os.path.join(self.root, file)), id=rest, status=status, out=out)

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
        agency_report.put(end=True)
        _COVERAGE.end()


def pytest_configure(config):
    if agency_report.asked() and not hasattr(config, "workerinput"):
        agency_report.put(begin=True)
        config.pluginmanager.register(_Reporter(config), "agency-reporter")
