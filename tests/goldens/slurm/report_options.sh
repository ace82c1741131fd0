#!/bin/bash
# Reports what is recorded of an experiment and what is missing. The argument is the
# number of the array job. scripts/slurm writes this script from scripts/slurm_report.sh
# and the values of a submission.
# Exit status: 1: shards are missing; otherwise that of `banyan report`.
#SBATCH --job-name=banyan-mine-report
#SBATCH --time=01:00:00
#SBATCH --output="/made up/out/mine/slurm/report.txt"
#SBATCH --ntasks=1
#SBATCH --open-mode=truncate
#SBATCH --account=us -q high
#SBATCH --partition=long

out='/made up/out/mine'
shards=4
program='/made up/bin/banyan'
again='cd '"'"'/made up'"'"' && /project/scripts/slurm '"'"'/made up/mine.yaml'"'"' --shards 4 --time 2-12 --out '"'"'/made up/out/mine'"'"' --program '"'"'/made up/bin/banyan'"'"' --cut cells --set '"'"'question=Why trees?'"'"' --set workload.prompts=6 --threads 2 --partition long --account=us --mem 4G -q high '"'"'--comment=two words'"'"''

set -u
array=${1:-}

# What Slurm says of a task, if it is one of the array.
slurm_says() {
  scontrol show job "${array}_$1" 2>/dev/null | sed -n '
    s/.*JobState=\([^ ]*\) Reason=\([^ ]*\).*/, \1 (\2)/p
    s/.* ExitCode=\([^ ]*\).*/, exit \1/p
    s/^ *NodeList=\(..*\)/, on \1/p
    s/^ *Comment=\(..*\)/, \1/p' | tr -d '\n'
}

missing=()
lines=()
for ((shard = 0; shard < shards; ++shard)); do
  files=("$out/records-$shard-of-$shards"*.banyan)
  [[ ! -e ${files[0]} ]] || [[ ! -e $out/slurm/shard-$shard.done ]] || continue
  begun=begun
  [[ -e ${files[0]} ]] || begun="nothing recorded"
  [[ -e $out/slurm/shard-$shard.log ]] || begun+=", no log"
  missing+=("$shard")
  lines+=("  shard $shard: $begun$(slurm_says "$shard")")
done

printf '%s: %d of %d shards are complete.\n' \
  "$(date '+%F %T')" $((shards - ${#missing[@]})) "$shards"
if ((${#missing[@]})); then
  printf '%s\n' "${lines[@]}"
  list=$(IFS=,; echo "${missing[*]}")
  printf 'Logs: %s/slurm/shard-N.log. A task without a log and with exit 0:53 ran on a ' "$out"
  printf 'node\nthat does not share the folder. To run what is missing:\n'
  printf '  %s --tasks %s\n' "$again" "$list"
fi
echo
status=0
"$program" report "$out" 2>&1 || status=$?
"$program" report "$out" --format html --out "$out/report.html" >/dev/null || status=$?
[[ ! -e $out/report.html ]] || printf '\nPage: %s/report.html\n' "$out"
((${#missing[@]} == 0)) || exit 1
exit "$status"
