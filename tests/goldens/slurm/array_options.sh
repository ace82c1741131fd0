#!/bin/bash
# Runs one shard of an experiment, as a task of a Slurm array. scripts/slurm writes this
# script from scripts/slurm_task.sh and the values of a submission.
# Exit status: 0: the shard is complete; 3: so it is, and texts refute a claim to be
# lossless; 4: Slurm was asked to requeue the task; anything else: the task failed.
#SBATCH --job-name=banyan-mine
#SBATCH --time=2-12:00:00
#SBATCH --output="/made up/out/mine/slurm/shard-%a.log"
#SBATCH --ntasks=1
#SBATCH --array=0,2-3
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@60
#SBATCH --cpus-per-task=2
#SBATCH --account=us --mem 4G -q high '--comment=two words'
#SBATCH --partition=long

out='/made up/out/mine'
shards=4
submission='experiment 0123456789abcdef
shards 4
cut cells
folder fedcba9876543210'
directory='/made up'
first=0
longest_wait_s=1800
again='cd '"'"'/made up'"'"' && /project/scripts/slurm '"'"'/made up/mine.yaml'"'"' --shards 4 --time 2-12 --out '"'"'/made up/out/mine'"'"' --program '"'"'/made up/bin/banyan'"'"' --cut cells --set '"'"'question=Why trees?'"'"' --set workload.prompts=6 --threads 2 --partition long --account=us --mem 4G -q high '"'"'--comment=two words'"'"''
command=('/made up/bin/banyan' run '/made up/mine.yaml' --set 'question=Why trees?' --set workload.prompts=6 --threads 2 --out '/made up/out/mine' --cut cells --onto new)

set -u
shard=$SLURM_ARRAY_TASK_ID
task=${SLURM_ARRAY_JOB_ID}_$shard
node=${SLURMD_NODENAME:-$(hostname)}
done_mark=$out/slurm/shard-$shard.done
signals=0
child=

say() { printf '%s task %s on %s: %s\n' "$(date '+%F %T')" "$task" "$node" "$*"; }

# fail WHY [WHAT TO DO]: the report shows why, also where nobody reads this log.
fail() {
  say "$@"
  scontrol update "JobId=$task" "Comment=$1" >/dev/null 2>&1
  exit 1
}

requeue() {
  say "$1; asks Slurm to requeue it"
  scontrol requeue "$task" && exit 4
  fail "scontrol requeue failed" "; to go on: $again --tasks $shard"
}

# The signal before the time limit comes to this shell alone.
# shellcheck disable=SC2317
pass_on() {
  ((++signals))
  say "signal to stop"
  [[ -z $child ]] || kill -USR1 "$child" 2>/dev/null
}
trap pass_on USR1

# A signal interrupts `wait`; the child's own status is that of a wait without one.
wait_for() {
  local before=-1
  status=0
  while ((before != signals)); do
    before=$signals
    wait "$1"
    status=$?
  done
}

# Bytes in the record files of the shard.
recorded() {
  local file size sum=0
  for file in "$out/records-$shard-of-$shards"*.banyan; do
    size=$(stat --format %s -- "$file" 2>/dev/null) && ((sum += size))
  done
  echo "$sum"
}

has_records() {
  local file
  for file in "$out"/records-*.banyan; do
    [[ ! -s $file ]] || return 0
  done
  return 1
}

# Waits until the first task has measured the costs that every shard's cells depend on.
wait_for_costs() {
  local waited=0
  [[ $shard != "$first" ]] || return 0
  until has_records; do
    ((waited)) || say "waits for the costs that task $first measures"
    ((waited < longest_wait_s)) || fail "no record file after $waited s" \
      "in $out; when shard $first has begun: $again --tasks $shard"
    sleep 5 &
    wait "$!"
    ((signals == 0)) || requeue "the costs are not measured yet"
    ((waited += 5))
  done
}

# A file of another node may take seconds to appear.
for ((tries = 0; tries < 20; ++tries)); do
  [[ ! -e $out/slurm/submission ]] || break
  sleep 1
done
[[ $(cat -- "$out/slurm/submission" 2>/dev/null) == "$submission" ]] ||
  fail "on $node $out is not the folder that scripts/slurm wrote to; it must be on a file \
system that all nodes share"
cd -- "$directory" || fail "$node has no folder $directory, where --set was given"
[[ -z $first ]] || wait_for_costs

before=$(recorded)
rm -f -- "$done_mark"
say "shard $shard of $shards, restart ${SLURM_RESTART_COUNT:-0}"
"${command[@]}" --shard "$shard/$shards" &
child=$!
((signals == 0)) || kill -USR1 "$child"
wait_for "$child"
child=
case $status in
  0 | 3)
    : >"$done_mark"
    say "the shard is complete (exit status $status)"
    exit "$status"
    ;;
  4 | 138) # 138: the signal came before the program expected it
    [[ $(recorded) != "$before" ]] || fail "no record was finished between the \
start and the signal to stop; --time is too short" "; to go on: $again --tasks $shard"
    requeue "stopped as asked"
    ;;
  *)
    fail "banyan run ended with exit status $status" "; to go on: $again --tasks $shard"
    ;;
esac
