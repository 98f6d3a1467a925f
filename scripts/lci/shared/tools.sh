# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the other commands need: JDKs, compilers, Debian packages.

# The first release of Java with java.lang.foreign for everybody.
readonly FFM_RELEASE=22

# install PACKAGE...: Debian packages, as root; else says what to do.
install_packages() {
  local command="apt-get install -y --no-install-recommends $*"
  command -v apt-get > /dev/null || die "missing: $* (Debian package names); install them and try again"
  [[ $(id -u) == 0 ]] || die "missing: $*. Install with: sudo $command"
  say "lci: installing $*"
  mkdir -p "$state/logs"
  local log=$state/logs/apt.log
  : > "$log"
  # The lists may be old or absent; only then are they fetched.
  with_apt "$log" $command && return
  { with_apt "$log" apt-get update && with_apt "$log" $command; } || { tail -n 5 "$log" >&2; die "$command failed; see $log"; }
}

# with_apt LOG COMMAND...: runs it once nobody else installs packages, for at most ten minutes.
with_apt() {
  local log=$1 said="" end=$((SECONDS + 600)) output
  shift
  output=$(mktemp "$log.XXXXXX")
  until "$@" > "$output" 2>&1 < /dev/null; do
    cat "$output" >> "$log"
    if ! grep -qE 'Could not get lock|Unable to (acquire|lock)' "$output" || ((SECONDS >= end)); then
      rm -f "$output"
      return 1
    fi
    [[ -n $said ]] || say "lci: waiting for another installation of packages to end"
    said=yes
    sleep 1
  done
  cat "$output" >> "$log"
  rm -f "$output"
}

# fetch_package NAME FOLDER: downloads a Debian package and unpacks it there, without installing it.
fetch_package() {
  command -v apt-get > /dev/null && command -v dpkg > /dev/null || return 1
  local download=$state/cache/download-$1
  rm -rf "$download" && mkdir -p "$download" "$state/logs"
  (cd "$download" && { apt-get download "$1" || { [[ $(id -u) == 0 ]] && with_apt "$state/logs/apt.log" apt-get update && apt-get download "$1"; }; }) \
    > "$state/logs/$1.log" 2>&1 < /dev/null && dpkg -x "$download"/*.deb "$2" && rm -rf "$download"
}

# java_home: that of the javac on the PATH if JAVA_HOME is not set. The javac may be a script, of a tool that keeps several
# JDKs: then only a JVM knows. Nothing if there is none.
java_home() {
  local javac folder runtime=
  if [[ -n ${JAVA_HOME:-} ]]; then
    [[ -x $JAVA_HOME/bin/javac ]] || die "JAVA_HOME is $JAVA_HOME, but there is no JDK there"
    echo "$JAVA_HOME"
  elif javac=$(command -v javac); then
    folder=$(dirname "$(dirname "$(readlink -f "$javac")")")
    [[ -f $folder/release ]] || runtime=$("$javac" -J-XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.home = //p') || true
    echo "${runtime:-$folder}"
  fi
}

# java_version HOME: the feature version, such as 17.
java_version() { "$1/bin/javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p'; }

find_java() {
  jdk=$(java_home)
  if [[ -n $jdk ]]; then
    jdk_version=$(release_of "$jdk")
    ((jdk_version > 0)) ||
      die "JDK 17 or newer is needed; ${JAVA_HOME:-$(command -v javac)} does not say its version: set JAVA_HOME"
    ((jdk_version >= 17)) || die "JDK 17 or newer is needed; $jdk is $jdk_version"
  fi
}

# release_of HOME: the same without starting a JVM, where the JDK says it in a file. 0: it does not say its version.
release_of() {
  local line version=
  if [[ -r $1/release ]]; then
    while read -r line; do
      [[ ! $line =~ ^JAVA_VERSION=\"([0-9]+) ]] || version=${BASH_REMATCH[1]}
    done < "$1/release"
  fi
  [[ -n $version ]] || version=$(java_version "$1" 2> /dev/null) || true
  [[ $version =~ ^[0-9]+$ ]] || version=0
  echo "$version"
}

# find_newer_jdk: sets newer_jdk to a JDK of 22 or newer, for the calls by java.lang.foreign; empty if there is none. It is
# the one that LCI_NEWER_JDK names (none: no other than the one in use), the one in use, or the newest where systems install them.
find_newer_jdk() {
  local javac newest=$((FFM_RELEASE - 1))
  newer_jdk=${LCI_NEWER_JDK:-}
  if [[ -n $newer_jdk && $newer_jdk != none ]]; then
    [[ -x $newer_jdk/bin/javac && $(release_of "$newer_jdk") -ge $FFM_RELEASE ]] ||
      die "LCI_NEWER_JDK is $newer_jdk, but there is no JDK of $FFM_RELEASE or newer there"
  elif [[ -n $jdk ]] && ((jdk_version >= FFM_RELEASE)); then
    newer_jdk=$jdk
  elif [[ -n $newer_jdk ]]; then
    newer_jdk=
  else
    for javac in /usr/lib/jvm/*/bin/javac; do
      if [[ -x $javac && $(release_of "${javac%/bin/javac}") -gt $newest ]]; then
        newer_jdk=${javac%/bin/javac}
        newest=$(release_of "$newer_jdk")
      fi
    done
  fi
}

need_tools() {
  local packages=()
  find_java
  [[ -n $jdk ]] || packages+=(openjdk-17-jdk-headless)
  command -v mvn > /dev/null || packages+=(maven)
  command -v g++ > /dev/null || packages+=(g++)
  command -v gcc > /dev/null || packages+=(gcc)
  command -v cmake > /dev/null || packages+=(cmake)
  command -v make > /dev/null || packages+=(make)
  [[ -f /usr/include/gtest/gtest.h ]] || packages+=(libgtest-dev)
  if ((${#packages[@]} > 0)); then
    install_packages "${packages[@]}"
    find_java
  fi
  find_newer_jdk
  export JAVA_HOME=$jdk
}

need_command() { command -v "$1" > /dev/null || install_packages "$2"; }

# need_prometheus: sets prometheus to the folder of the programs prometheus and promtool. Debian's package is only unpacked:
# installed, it would start a service.
need_prometheus() {
  local unpacked=$state/cache/prometheus
  if command -v prometheus > /dev/null && command -v promtool > /dev/null; then
    prometheus=$(dirname "$(command -v prometheus)")
    return
  fi
  prometheus=$unpacked/usr/bin
  [[ ! -x $prometheus/promtool ]] || return 0
  fetch_package prometheus "$unpacked" || die "Debian's package prometheus cannot be had; see .lci/logs/prometheus.log"
}

# need_hydra: puts mpiexec.hydra on the PATH, if it can be had: Debian's packages are only unpacked. Without it the test that
# needs it says so.
need_hydra() {
  local unpacked=$state/cache/hydra package
  ! command -v mpiexec.hydra > /dev/null || return 0
  if [[ ! -x $unpacked/mpiexec.hydra ]]; then
    for package in libhwloc15 libslurm38 mpich; do fetch_package "$package" "$unpacked" || return 0; done
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$unpacked/usr/lib/x86_64-linux-gnu" "$unpacked/usr/bin/mpiexec.hydra" \
      > "$unpacked/mpiexec.hydra"
    chmod +x "$unpacked/mpiexec.hydra"
  fi
  export PATH=$PATH:$unpacked
}

# need_open_mpi: the same for mpirun.openmpi, whose ranks find libpmix.so.2 beside it.
need_open_mpi() {
  local unpacked=$state/cache/open-mpi package libraries
  libraries=$unpacked/usr/lib/$(uname -m)-linux-gnu
  ! command -v mpirun.openmpi > /dev/null || return 0
  if [[ ! -x $unpacked/mpirun.openmpi ]]; then
    for package in libevent-core-2.1-7 libevent-pthreads-2.1-7 libhwloc15 libpmix2 libopenmpi3 openmpi-common openmpi-bin; do
      fetch_package "$package" "$unpacked" || return 0
    done
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q OPAL_PREFIX=%q PMIX_PREFIX=%q exec %q "$@"\n' "$libraries" "$unpacked/usr" \
      "$libraries/pmix2" "$unpacked/usr/bin/orterun" > "$unpacked/mpirun.openmpi"
    chmod +x "$unpacked/mpirun.openmpi"
  fi
  export PATH=$PATH:$unpacked
}

# try_mpi LIBRARY PACKAGE...: its compiler and launcher, if they can be had.
try_mpi() {
  local library=$1
  shift
  command -v "mpicc.$library" > /dev/null && command -v "mpiexec.$library" > /dev/null && return
  (install_packages "$@") || say "lci: $library cannot be had"
}

# need_pmix_of_slurm: Slurm opens libpmix.so, a name that Debian has in the package for developers.
need_pmix_of_slurm() {
  compgen -G "/usr/lib/*/pmix2/lib/libpmix.so" > /dev/null || compgen -G "/usr/lib/*/libpmix.so" > /dev/null || install_packages libpmix-dev
}

# clang, its libFuzzer and its sanitizers.
need_clang() {
  local packages=()
  command -v clang++ > /dev/null || packages+=(clang)
  compgen -G "$(clang++ -print-resource-dir 2> /dev/null)/lib/*/libclang_rt.fuzzer*.a" > /dev/null || packages+=(libclang-rt-dev)
  ((${#packages[@]} == 0)) || install_packages "${packages[@]}"
}
