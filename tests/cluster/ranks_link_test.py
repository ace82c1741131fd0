"""Two ranks on two hosts with a real link between them: network namespaces joined by a
veth pair whose rate `tc tbf` limits. What crosses the link, by its own counters, and how
long a pass takes are held against the formula that `banyan measure` prints.

    ranks_link_test.py PROGRAM

Exits with 77, and the reason, where namespaces are refused.
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
PROJECT = pathlib.Path(__file__).resolve().parents[2]
TARGET = PROJECT / "models/pycode-target"
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
NAME = f"banyan{os.getpid()}"
HOSTS = {"10.213.77.1": f"{NAME}a", "10.213.77.2": f"{NAME}b"}  # namespaces
MBIT = 200
BYTES_PER_S = MBIT * 125_000
ROWS = 64
# Of a message at one row: headers of Ethernet, IP and TCP and an acknowledgement, of the
# message and of the exchange before it, and MPI's own headers.
MESSAGE_BYTES = 600


def sh(*command, check=True):
    return subprocess.run([shutil.which(command[0], path=PATH) or command[0],
                           *map(str, command[1:])], check=check, capture_output=True,
                          text=True)


def missing():
    """Why there can be no such link; empty if there can."""
    for name in ("ip", "tc", "mpirun", "unshare"):
        if not shutil.which(name, path=PATH):
            return f"{name} is not installed (scripts/setup cluster)"
    made = sh("ip", "netns", "add", f"{NAME}t", check=False)
    if made.returncode != 0:
        return f"network namespaces are refused: {made.stderr.strip()}"
    sh("ip", "netns", "del", f"{NAME}t")
    return ""


class Link:
    """Two namespaces with a rate-limited link; gone afterwards."""

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        (first, a), (second, b) = HOSTS.items()
        for name in (a, b):
            sh("ip", "netns", "add", name)
        sh("ip", "link", "add", "link0", "netns", a, "type", "veth", "peer", "name",
           "link0", "netns", b)
        for address, name in ((first, a), (second, b)):
            sh("ip", "-n", name, "address", "add", f"{address}/24", "dev", "link0")
            for device in ("lo", "link0"):
                sh("ip", "-n", name, "link", "set", device, "up")
            # A frame at a time, so that the counters hold what the rate let through.
            sh("ip", "netns", "exec", name, "ethtool", "-K", "link0", "tso", "off",
               "gso", "off", "gro", "off", check=False)
            sh("tc", "-n", name, "qdisc", "add", "dev", "link0", "root", "tbf", "rate",
               f"{MBIT}mbit", "burst", "64kb", "latency", "100ms")

    def __exit__(self, *_):
        for name in HOSTS.values():
            sh("ip", "netns", "del", name, check=False)

    def received(self):
        text = sh("ip", "netns", "exec", HOSTS["10.213.77.1"], "cat",
                  "/sys/class/net/link0/statistics/rx_bytes").stdout
        return int(text)


def on_host(address, command):
    """The command in a namespace, under a host name of its own."""
    return ["ip", "netns", "exec", HOSTS[address], "unshare", "--uts", "sh", "-c",
            f"hostname {HOSTS[address]}; exec {command}"]


class LinkTest(unittest.TestCase):

    def measure(self, link, batch, rounds):
        """What `measure` says, and the bytes that came over the link meanwhile."""
        with tempfile.TemporaryDirectory() as folder:
            agent = pathlib.Path(folder) / "agent"
            cases = "".join(
                f"  {address}) exec {shlex.join(on_host(address, '')[:-1])} "
                f"\"hostname {name}; exec $*\" ;;\n" for address, name in HOSTS.items())
            agent.write_text("#!/bin/sh\nexport PATH=\"$PATH:/usr/sbin:/sbin\"\n"
                             "host=$1; shift\n"
                             f"case $host in\n{cases}esac\nexit 1\n")
            agent.chmod(0o755)
            command = shlex.join([
                "mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(agent),
                "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "link0",
                "--mca", "oob_tcp_if_include", "link0", "--mca", "pml", "ob1",
                "--host", ",".join(f"{address}:1" for address in HOSTS), "-np", "2",
                str(PROGRAM), "measure", "--model", str(TARGET), "--batch", str(batch),
                "--context", "64", "--rounds", str(rounds), "--threads", "1", "--json"])
            before = link.received()
            done = subprocess.run(
                on_host("10.213.77.1", command), check=False, capture_output=True,
                text=True, env={**os.environ, "PATH": PATH}, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertEqual((found["ranks"], found["nodes"]), (2, 2))
            return found, link.received() - before

    def more(self, link, batch):
        """What more rounds add: bytes on the link, those gathered, and gathers."""
        few, some = self.measure(link, batch, 3)
        many, all_bytes = self.measure(link, batch, 13)
        return (all_bytes - some,
                (many["all_gathered_bytes"] - few["all_gathered_bytes"]) / 2,
                many["all_gathers"] - few["all_gathers"], many)

    def test_the_link_carries_what_the_formula_says(self):
        with Link() as link:
            received, payload, _, found = self.more(link, ROWS)
            row = found["gathers"][0]
            self.assertAlmostEqual(row["received_bytes"],
                                   row["received_bytes_by_formula"], delta=16)
            print(f"{ROWS} rows: {received} bytes on the link, {payload:.0f} by the "
                  f"formula: {received / payload:.3f}")
            self.assertGreater(payload, 1e6)
            self.assertAlmostEqual(received / payload, 1, delta=0.1)
            formula = row["compute_ms"] + 1e3 * payload_of(row) / BYTES_PER_S
            measured = found["timings"][0]["median_ms"]
            print(f"{ROWS} rows: a pass takes {measured:.1f} ms, {formula:.1f} by the "
                  f"formula: {measured / formula:.2f}")
            self.assertAlmostEqual(measured / formula, 1, delta=0.25)

            received, payload, gathers, _ = self.more(link, 1)
            print(f"1 row: {received} bytes on the link, {payload:.0f} by the formula, "
                  f"{(received - payload) / gathers:.0f} more a gather")
            self.assertGreater(received, payload)
            self.assertLess(received, 1.1 * payload + MESSAGE_BYTES * gathers)


def payload_of(row):
    return row["received_bytes_by_formula"]


if __name__ == "__main__":
    REASON = missing()
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(77)
    unittest.main()
