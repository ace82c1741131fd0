"""Starts a Slurm of its own for a test: a controller and virtual nodes on this machine,
with own ports, in a temporary folder. Neither files of the system nor its services are
used. `missing()` says why there can be none here."""

import ctypes
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
PR_SET_PDEATHSIG = 1
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"

# A requeued job waits for cred_expire, by default two minutes. A node is down after
# SlurmdTimeout. Without munge, authentication is none.
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
MpiDefault=none
KillWait=5
SchedulerParameters=sched_interval=5,bf_interval=5
SwitchType=switch/none
MailProg=/bin/true
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=p Nodes=n1,n2 Default=YES State=UP MaxTime=INFINITE
"""


def missing():
    """Why no Slurm can be started; empty if one can."""
    for name in PROGRAMS:
        if not shutil.which(name, path=PATH):
            return f"{name} is not installed (scripts/setup cluster)"
    return ""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def end_with_parent():
    """A daemon ends even if the test is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Cluster:
    """Use with `with`. `nodes`: those whose daemon starts at once."""

    def __init__(self, nodes=("n1", "n2")):
        self.temporary = tempfile.TemporaryDirectory(prefix="slurm ")
        self.folder = pathlib.Path(self.temporary.name)
        # Slurm's own files are in a folder without blanks.
        self.own = tempfile.TemporaryDirectory(prefix="slurm-")
        self.environment = {
            **{key: value for key, value in os.environ.items()
               if not key.startswith(("SLURM_", "SBATCH_"))},
            "PATH": PATH, "SLURM_CONF": f"{self.own.name}/slurm.conf"}
        self.daemons = {}
        self.nodes = nodes

    def __enter__(self):
        own = pathlib.Path(self.own.name)
        (own / "slurm.conf").write_text(CONF.format(
            host=socket.gethostname().split(".")[0], user=getpass.getuser(),
            folder=own, ports=free_ports(3)))
        (own / "state").mkdir()
        try:
            self.start("slurmctld", "slurmctld", "-i", "-D")
            for node in self.nodes:
                self.start_node(node)
            self.wait(lambda: self.idle() == len(self.nodes), 30, "idle nodes")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def start(self, name, *command):
        with open(f"{self.own.name}/{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment, preexec_fn=end_with_parent)

    def start_node(self, node, *before):
        self.start(node, *before, "slurmd", "-D", "-N", node)

    def run(self, *command, check=True):
        done = subprocess.run([str(word) for word in command], check=False, text=True,
                              capture_output=True, env=self.environment,
                              stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} gave {done.returncode}: {done.stdout}"
                                 f"{done.stderr}")
        return done.stdout if check else done

    def idle(self):
        return self.run("sinfo", "--noheader", "--Node", "--format", "%t",
                        check=False).stdout.split().count("idle")

    def jobs(self):
        """(array task or job, state, node, number) of every job that has not ended."""
        lines = self.run("squeue", "--noheader", "--array", "--format",
                         "%i|%T|%N|%A").splitlines()
        return [tuple(line.split("|")) for line in lines]

    def wait(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"no {what} within {seconds} s: {self.told()}")
            time.sleep(0.05)

    def told(self):
        """What helps to see why a test failed."""
        shown = [str(self.run("squeue", "--array", check=False).stdout)]
        for log in [*pathlib.Path(self.own.name).glob("*.log"),
                    *self.folder.rglob("*.log"), *self.folder.rglob("report.txt")]:
            shown.append(f"-- {log}\n{log.read_text(errors='replace')[-3000:]}")
        return "\n".join(shown)

    def processes(self, *texts):
        """Processes of this cluster whose environment or command has all texts."""
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                about = (folder / "environ").read_bytes() + b"\0" + \
                    (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if state != "Z" and all(text.encode() in about
                                    for text in (self.own.name, *texts)):
                found.append(int(folder.name))
        return found

    def kill_node(self, node):
        """Kills the daemon of a node, the steps of its jobs and the jobs. Returns the
        jobs."""
        running = [(job, number) for job, state, where, number in self.jobs()
                   if where == node and state == "RUNNING"]
        kill(self.daemons[node].pid)
        self.daemons.pop(node).wait()
        for _, number in running:
            for process in self.processes(f"slurmstepd: [{number}.batch]"):
                kill(process)
        for process in self.processes(f"SLURMD_NODENAME={node}"):
            kill(process)
        return [job for job, _ in running]

    def close(self):
        """Ends every daemon and whatever they started; fails if something stays."""
        self.run("scancel", "--user", getpass.getuser(), check=False)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        left = []
        for _ in range(100):
            left = self.processes()
            if not left:
                break
            for process in left:
                kill(process)
            time.sleep(0.1)
        self.temporary.cleanup()
        self.own.cleanup()
        if left:
            raise AssertionError(f"processes that do not end: {left}")
