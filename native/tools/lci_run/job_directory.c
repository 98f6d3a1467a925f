/* SPDX-License-Identifier: Apache-2.0 */
#include "job_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

#define JOB_PREFIX "job-"
#define UNFINISHED_PREFIX ".new-"

enum { UNFINISHED_SECONDS = 60 };

static int remove_entry(const char* path, const struct stat* status, int type, struct FTW* where) {
  (void)status, (void)where;
  int result = type == FTW_DP || type == FTW_DNR ? rmdir(path) : unlink(path);
  return result == 0 || errno == ENOENT ? 0 : -1;
}

static void remove_tree(const char* path) {
  if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
    report("cannot remove %s: %s", path, strerror(errno));
  }
}

/** True if the owner is known to be dead. Both proofs of life count: the lock, which also holds across pid namespaces
 * and reboots, and a process with that pid and start time. */
static bool is_abandoned(int directory) {
  struct stat status;
  bool fresh = fstat(directory, &status) == 0 && time(NULL) - status.st_mtime < UNFINISHED_SECONDS;
  int fd = openat(directory, "owner", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    return !fresh; /* A launcher that is just creating it has written no owner yet. */
  }
  bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
  char text[64] = "";
  long pid = 0;
  uint64_t start = 0;
  bool known = read(fd, text, sizeof text - 1) > 0 && sscanf(text, "%ld %" SCNu64, &pid, &start) == 2;
  bool running = known && pid > 0 && process_start_time((pid_t)pid) == start;
  close(fd);
  return !locked && !running && (known || !fresh);
}

static bool is_job_name(const char* name) {
  return strncmp(name, JOB_PREFIX, strlen(JOB_PREFIX)) == 0 ||
         strncmp(name, UNFINISHED_PREFIX, strlen(UNFINISHED_PREFIX)) == 0;
}

static void sweep(const char* base) {
  DIR* entries = opendir(base);
  if (entries == NULL) {
    return;
  }
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (!is_job_name(entry->d_name)) {
      continue;
    }
    int directory = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) {
      continue;
    }
    bool abandoned = is_abandoned(directory);
    close(directory);
    char path[PATH_MAX];
    if (abandoned && snprintf(path, sizeof path, "%s/%s", base, entry->d_name) < (int)sizeof path) {
      remove_tree(path);
    }
  }
  closedir(entries);
}

/** Whoever can write to the base can redirect us: it must be ours alone. */
static bool make_base(const char* base) {
  if (mkdir(base, 0700) != 0 && errno != EEXIST) {
    return report("cannot create directory %s: %s", base, strerror(errno));
  }
  struct stat status;
  if (lstat(base, &status) != 0) {
    return report("cannot look at directory %s: %s", base, strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) {
    return report("%s is not a directory (a symbolic link is refused too); choose another with --dir", base);
  }
  if (status.st_uid != geteuid()) {
    return report("%s belongs to user %u, not to you; choose another with --dir", base, (unsigned)status.st_uid);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return report("%s is writable by others (mode %03o); choose a directory of your own with --dir", base,
                  (unsigned)status.st_mode & 0777);
  }
  return true;
}

static void default_base(char out[PATH_MAX]) {
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  struct stat status;
  if (runtime != NULL && runtime[0] == '/' && strlen(runtime) < PATH_MAX - 64 && stat(runtime, &status) == 0 &&
      S_ISDIR(status.st_mode) && status.st_uid == geteuid()) {
    snprintf(out, PATH_MAX, "%s/lci", runtime);
  } else {
    snprintf(out, PATH_MAX, "/tmp/lci-%u", (unsigned)geteuid());
  }
}

/** Creates a file in the job directory; its descriptor, or -1 after a message. */
static int create_file(const char* directory, const char* name, const void* data, size_t size) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 || !write_all(fd, data, size)) {
    report("cannot write %s: %s", path, strerror(errno));
    if (fd >= 0) {
      close(fd);
    }
    return -1;
  }
  return fd;
}

/** The owner has its name when it is locked: a sweeper that looks whether it is takes the lock for a moment. */
static bool claim(struct job_directory* job, const char* directory) {
  char owner[64], nameless[PATH_MAX + 64], path[PATH_MAX + 64];
  int length = snprintf(owner, sizeof owner, "%ld %" PRIu64 "\n", (long)getpid(), process_start_time(getpid()));
  job->owner_fd = create_file(directory, "owner.new", owner, (size_t)length);
  if (job->owner_fd < 0) {
    return false;
  }
  snprintf(nameless, sizeof nameless, "%s/owner.new", directory);
  snprintf(path, sizeof path, "%s/owner", directory);
  if (flock(job->owner_fd, LOCK_EX | LOCK_NB) != 0) {
    return report("cannot lock %s: %s", nameless, strerror(errno));
  }
  return rename(nameless, path) == 0 || report("cannot rename %s: %s", nameless, strerror(errno));
}

static bool fill(struct job_directory* job, const char* directory, const char* id, const unsigned char* given) {
  if (!claim(job, directory)) {
    return false;
  }
  unsigned char secret[SECRET_BYTES];
  if (given != NULL) {
    memcpy(secret, given, sizeof secret);
  } else if (!random_bytes(secret, sizeof secret)) {
    return false;
  }
  int secret_fd = create_file(directory, "secret", secret, sizeof secret);
  explicit_bzero(secret, sizeof secret);
  int job_fd = secret_fd < 0 ? -1 : create_file(directory, "job", id, strlen(id));
  if (secret_fd >= 0) {
    close(secret_fd);
  }
  if (job_fd >= 0) {
    close(job_fd);
  }
  return job_fd >= 0;
}

bool job_directory_create(struct job_directory* job, const char* base, const unsigned char* secret) {
  char chosen[PATH_MAX];
  if (base == NULL) {
    default_base(chosen);
  } else if (base[0] == '\0' || snprintf(chosen, sizeof chosen, "%s", base) >= PATH_MAX - 64) {
    return report("--dir needs a path of 1 to %d characters", PATH_MAX - 64);
  }
  if (!make_base(chosen)) {
    return false;
  }
  char real[PATH_MAX]; /* Ranks may change their working directory. */
  if (realpath(chosen, real) == NULL || strlen(real) >= PATH_MAX - 64) {
    return report("cannot resolve %s: %s", chosen, strerror(errno));
  }
  sweep(real);

  unsigned char number[8];
  if (!random_bytes(number, sizeof number)) {
    return false;
  }
  char id[2 * sizeof number + 1];
  for (size_t i = 0; i < sizeof number; i++) {
    snprintf(id + 2 * i, 3, "%02x", number[i]);
  }
  char unfinished[PATH_MAX + 32];
  snprintf(unfinished, sizeof unfinished, "%s/" UNFINISHED_PREFIX "%s", real, id);
  if (snprintf(job->path, sizeof job->path, "%s/" JOB_PREFIX "%s", real, id) >= (int)sizeof job->path) {
    return report("the path %s is too long", real);
  }
  if (mkdir(unfinished, 0700) != 0) {
    return report("cannot create %s: %s", unfinished, strerror(errno));
  }
  /* Complete or absent: a sweeper and the ranks never see half a directory. */
  if (!fill(job, unfinished, id, secret)) {
    remove_tree(unfinished);
    return false;
  }
  if (rename(unfinished, job->path) != 0) {
    report("cannot rename %s: %s", unfinished, strerror(errno));
    remove_tree(unfinished);
    return false;
  }
  return true;
}

bool job_directory_has_joined(const struct job_directory* job, int rank) {
  char path[sizeof job->path + 32];
  snprintf(path, sizeof path, "%s/gen.0/claim.%d", job->path, rank); /* As in file_bootstrap.hpp. */
  return access(path, F_OK) == 0;
}

void job_directory_tell_death(const struct job_directory* job, int rank) {
  char number[16], unfinished[sizeof job->path + 16], path[sizeof job->path + 16];
  int length = snprintf(number, sizeof number, "%d", rank);
  int fd = create_file(job->path, "dead.new", number, (size_t)length);
  if (fd < 0) {
    return; /* They find out by their deadline. */
  }
  close(fd);
  snprintf(unfinished, sizeof unfinished, "%s/dead.new", job->path);
  snprintf(path, sizeof path, "%s/dead", job->path); /* As in file_bootstrap.hpp. */
  if (rename(unfinished, path) != 0) {
    report("cannot rename %s: %s", unfinished, strerror(errno));
  }
}

void job_directory_remove(const struct job_directory* job) {
  remove_tree(job->path);
}
