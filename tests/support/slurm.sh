# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Slurm on one node, which is this machine: daemons, key and state of its own, in a folder. What the system has of Slurm is not
# touched. Needs root. [slurm.conf]

# slurm_up FOLDER CPUS: starts it, and waits until the node takes jobs. Exports SLURM_CONF. slurm_down ends what came up.
slurm_up() {
  local folder=$1 end=$((SECONDS + 120))
  slurm_folder=$folder
  slurm_pids=()
  mkdir -p "$folder"/{state,spool,munge} && chmod 755 "$folder" || return
  head -c 1024 /dev/urandom > "$folder/munge/key" && chmod 600 "$folder/munge/key" || return
  slurm_write "$2" || return
  export SLURM_CONF=$folder/slurm.conf
  # The folder of a test lies in /tmp, where anybody may write: munged wants to be forced.
  slurm_start munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --num-threads=2 \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  until [[ -S $folder/munge/socket ]]; do slurm_waits "$end" "munged does not answer" || return; done
  slurm_start slurmctld -D -f "$SLURM_CONF"
  slurm_start slurmd -D -f "$SLURM_CONF"
  until [[ $(sinfo --noheader -o %T 2> /dev/null) == idle ]]; do slurm_waits "$end" "the node does not come up" || return; done
}

# slurm_write CPUS: as many processors as it is told, whatever the machine has.
slurm_write() {
  local port=$((20000 + RANDOM % 10000))
  cat > "$slurm_folder/slurm.conf" << CONF
ClusterName=lci
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
SlurmdParameters=config_overrides
AuthType=auth/munge
AuthInfo=socket=$slurm_folder/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$slurm_folder/state
SlurmdSpoolDir=$slurm_folder/spool
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmdPidFile=$slurm_folder/slurmd.pid
SlurmctldLogFile=$slurm_folder/slurmctld.log
SlurmdLogFile=$slurm_folder/slurmd.log
PluginDir=$(dirname "$(find /usr/lib -name mpi_pmi2.so -print -quit)")
PlugStackConfig=$slurm_folder/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_res
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
CONF
  : > "$slurm_folder/plugstack.conf"
  echo CgroupAutomount=no > "$slurm_folder/cgroup.conf"
}

slurm_start() {
  "$@" > "$slurm_folder/$1.out" 2>&1 < /dev/null &
  slurm_pids+=($!)
}

# slurm_waits END WHAT: for a moment, while all daemons live and there is time.
slurm_waits() {
  local pid
  for pid in "${slurm_pids[@]}"; do
    ((SECONDS < $1)) && kill -0 "$pid" 2> /dev/null || { echo "Slurm: $2"; slurm_logs; return 1; }
  done
  sleep 0.1
}
slurm_logs() { tail -n 5 "$slurm_folder"/{munge/log,slurmctld.log,slurmd.log,*.out} 2> /dev/null; }

slurm_down() {
  ((${#slurm_pids[@]} == 0)) || { kill "${slurm_pids[@]}"; wait "${slurm_pids[@]}"; } 2> /dev/null || true
}
