"""Runs unittest as `python -m unittest` does, and writes one JSON line a
result into a file."""
import json
import os
import sys
import unittest

_BASE = os.environ.pop("AGENCY_REPORT", "")  # what is tested need not know
sys.path[0] = os.getcwd()
sys.argv[0] = "python -m unittest"


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


class _Result(unittest.TextTestResult):
    def _note(self, test, status, out=""):
        if _BASE:
            _put({"id": test.id(), "status": status, "out": out[-4096:]})

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._note(test, "skipped")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failed", "unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed", self._exc_info_to_string(err, test))


class _Runner(unittest.TextTestRunner):
    resultclass = _Result

    def run(self, test):
        if _BASE:
            _put({"begin": True})
        result = super().run(test)
        if _BASE:
            _put({"end": True})
        _COVERAGE.end()
        return result


unittest.main(module=None, testRunner=_Runner)
