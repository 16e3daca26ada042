"""Runs unittest as `python -m unittest` does, and writes one JSON line a
result into a file."""
import os
import sys
import unittest

import agency_lines
import agency_report

sys.path[0] = os.getcwd()
sys.argv[0] = "python -m unittest"
_COVERAGE = agency_report.Coverage(agency_lines.Lines)


class _Result(unittest.TextTestResult):
    def _note(self, test, status, err=None):
        out = self._exc_info_to_string(err, test)[-4096:] if err else ""
        agency_report.put(id=test.id(), status=status, out=out)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", err)

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed", err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._note(test, "skipped")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        agency_report.put(id=test.id(), status="failed", out="unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed", err)


class _Runner(unittest.TextTestRunner):
    resultclass = _Result

    def run(self, test):
        agency_report.put(begin=True)
        result = super().run(test)
        agency_report.put(end=True)
        _COVERAGE.end()
        return result


unittest.main(module=None, testRunner=_Runner)
