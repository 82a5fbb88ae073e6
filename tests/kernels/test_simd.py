"""The vector operations do not rest on what newer versions of LLVM and llvmlite take away."""

import numba
import pytest
from llvmlite import binding, ir

from fastrm.kernels import simd


def parsed(use):
    """Return the LLVM IR of a function that `use` writes, given pointers without a type, as LLVM reads it."""
    module = ir.Module()
    arguments = [ir.PointerType(), ir.IntType(64), ir.IntType(64)]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), "use")
    builder = ir.IRBuilder(function.append_basic_block())
    use(simd.Vectors(None, builder, numba.void(), []), *function.args)
    builder.ret_void()
    return str(binding.parse_assembly(str(module)))


OPERATIONS = {
    "load": (lambda b, data, first, second: b.load(data, first), "load <4 x double>"),
    "store": (lambda b, data, first, second: b.store(b.load(data, first), data, second), "store <4 x double>"),
    "pair": (lambda b, data, first, second: b.pair(data, first, second), "load double"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_vectors_are_read_and_written_through_pointers_without_a_type(name):
    use, line = OPERATIONS[name]
    if not getattr(ir.types, "opaque_pointers_enabled", True):  # llvmlite 0.44 turns them on by a variable
        pytest.skip("this llvmlite has no pointers without a type")
    text = parsed(use)
    assert line in text
    assert "getelementptr double" in text


@pytest.mark.parametrize(
    ("triple", "features", "wanted", "unwanted"),
    [
        ("x86_64-unknown-linux-gnu", "+avx512f,+avx512vl,+avx512dq", "movmskpd", "%k"),
        ("x86_64-unknown-linux-gnu", "", "movmskpd", "%k"),
        ("aarch64-unknown-linux-gnu", "", "fcmeq", "x86"),
    ],
    ids=["AVX-512", "x86", "arm64"],
)
def test_ties_never_go_through_mask_registers_and_need_no_x86(triple, features, wanted, unwanted):
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = ir.Module()
    module.triple = triple
    arguments = [ir.PointerType(ir.DoubleType()), ir.IntType(64), ir.IntType(64)]
    function = ir.Function(module, ir.FunctionType(ir.IntType(64), arguments), "ties")
    builder = ir.IRBuilder(function.append_basic_block())
    b = simd.Vectors(None, builder, numba.void(), [])
    data, first, second = function.args
    builder.ret(b.ties(b.load(data, first, 2), b.load(data, second, 2)))
    machine = binding.Target.from_triple(triple).create_target_machine(features=features, opt=3)
    assembly = machine.emit_assembly(binding.parse_assembly(str(module)))
    assert wanted in assembly and unwanted not in assembly
