#!/usr/bin/env python3
"""What check_kernels.py finds in PTX."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_kernels  # noqa: E402


class InexactTest(unittest.TestCase):
    def test_each_kind_is_named(self):
        for name in ("ex2.approx.f32", "div.full.f32", "sqrt.approx.ftz.f32",
                     "mul.f32", "add.f64", "fma.rn.ftz.f32", "mul.rz.f32",
                     "add.ftz.f32", "atom.global.add.f32", "red.global.add.f64",
                     "atom.shared.add.noftz.bf16", "cvt.ftz.f32.bf16",
                     "rcp.approx.ftz.f64"):
            for line in (f"\t{name} \t%f1, %f2;", f"\t@%p1 {name} \t%f1, %f2;"):
                self.assertEqual(check_kernels.inexact(line), [name])

    def test_what_rounds_once_passes(self):
        for name in ("mul.rn.f32", "fma.rn.f32", "add.rn.f64", "div.rn.f32",
                     "mul.lo.s32", "add.s64", "mad.wide.u32", "atom.global.add.u32",
                     "max.f32", "cvt.rn.f32.s32", "ld.global.f32", "neg.f32",
                     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"):
            self.assertEqual(check_kernels.inexact(f"\t{name} \t%f1, %f2;"), [])

    def test_every_kernel_is_listed(self):
        self.assertGreater(len(check_kernels.sources()), 10)


if __name__ == "__main__":
    unittest.main()
