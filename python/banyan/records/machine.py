"""What records say of the machine and the build they come from.

The same rules and texts as experiments/records/machine.h.
"""


def _device_of(machine):
    text = (machine.device or "cpu") + (", fast" if machine.fast else "")
    if machine.ranks > 1:
        machines = "1 machine" if machine.nodes == 1 else f"{machine.nodes} machines"
        text += f", {machine.ranks} ranks on {machines} ({machine.link})"
    return text


def _sums_of(machine):
    cpu = machine.device in ("", "cpu")
    return "lanes" if not machine.sums and cpu else machine.sums


def _processor_of(machine):
    if not machine.HasField("gpu"):
        return machine.cpu
    gpu = machine.gpu
    return (f"{gpu.name} ({gpu.capability}, {gpu.memory_bytes / 1e9:.1f} GB, "
            f"{gpu.multiprocessors} multiprocessors at {gpu.clock_mhz:.0f} MHz, "
            f"{gpu.memory_bus_bits} bits of memory at {gpu.memory_clock_mhz:.0f} MHz, "
            f"driver {gpu.driver}, built with CUDA {gpu.runtime}), beside {machine.cpu}")


def _facts(context):
    build, machine = context.build, context.machine
    return {
        "revision": build.revision,
        "compiler": build.compiler,
        "flags": build.flags,
        "build type": build.type,
        "cpu": machine.cpu,
        "device": _device_of(machine),
        "gpu": _processor_of(machine),
        "instruction set": machine.instruction_set,
        "order of sums": _sums_of(machine),
        "cores": str(machine.cores),
        "threads": str(machine.threads),
    }


def differences(a, b):
    """"threads: 2 | 1" for each fact of build and machine in which two contexts differ
    and that times depend on."""
    of_a, of_b = _facts(a), _facts(b)
    if not a.machine.HasField("gpu") and not b.machine.HasField("gpu"):
        del of_a["gpu"], of_b["gpu"]
    return [f"{name}: {value or '-'} | {of_b[name] or '-'}"
            for name, value in of_a.items() if value != of_b[name]]


def is_overloaded(machine):
    return 0 < machine.cores < machine.load


def overload_text(machine):
    return (f"the load was {machine.load:.1f} on {machine.cores} cores when the run "
            "began: other programs were running, so times and speedups may mislead")
