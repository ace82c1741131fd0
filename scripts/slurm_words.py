"""Times and lists of tasks as Slurm writes them, and as people read them; for
scripts/slurm."""

import math
import re


def seconds_of(text):
    """A time as Slurm writes it, in seconds; None if it is none."""
    number = r"(\d{1,9})"
    match = re.fullmatch(rf"(?:{number}-)?{number}(?::{number})?(?::{number})?", text)
    if not match:
        return None
    days, first, second, third = (part and int(part) for part in match.groups())
    if days is not None:
        parts = days, first, second or 0, third or 0
    elif third is not None:
        parts = 0, first, second, third
    else:
        parts = 0, 0, first, second or 0
    days, hours, minutes, seconds = parts
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def slurm_time(seconds):
    """Whole minutes, since Slurm rounds up to them."""
    minutes = math.ceil(seconds / 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:00"


def words(seconds):
    """A duration for people."""
    seconds = math.ceil(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min"


def counted(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "s")


def tasks_of(text, shards):
    """The numbers of "0,3-5"; None if it is no list of tasks of the array."""
    tasks = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if not match:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last or last >= shards:
            return None
        tasks.update(range(first, last + 1))
    return sorted(tasks)


def ranges(tasks):
    """A list of tasks as Slurm writes it: 0-3,5."""
    parts = []
    for task in tasks:
        if parts and parts[-1][1] == task - 1:
            parts[-1][1] = task
        else:
            parts.append([task, task])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
