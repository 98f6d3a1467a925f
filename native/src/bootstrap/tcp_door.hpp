// SPDX-License-Identifier: Apache-2.0
// Where rank 0 answers: lets in connections that prove the secret of the job. The resources of strangers are bounded:
// so many at a time, a greeting and a proof each, and a few seconds.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "bootstrap/tcp_settings.hpp"
#include "bootstrap/tcp_wire.hpp"
#include "host/file_descriptor.hpp"
#include "host/socket.hpp"

namespace lci {

class TcpDoor {
 public:
  struct Limits {
    size_t strangers = 64;
    uint64_t patience = 5'000'000'000;        // ns for a stranger
    uint64_t crowd_patience = 1'000'000'000;  // ns, if there is no place for others
    uint64_t silent_patience = 50'000'000;    // ns, for one that has not greeted, if there is none
    uint64_t descriptor_wait = 50'000'000;    // ns, until one that may not be opened is asked for again
  };

  TcpDoor(const TcpSettings& settings, uint64_t job, const Limits& limits)
      : settings_(settings), job_(job), limits_(limits) {}
  TcpDoor(const TcpSettings& settings, uint64_t job) : TcpDoor(settings, job, Limits()) {}

  /// Listens at the root's address. LCI_RETRY if its name has no address now; else an error with a text.
  int open(std::string* why);
  bool is_open() const { return listener_.get() >= 0; }
  void close();
  void log_to(Log& log) { log_ = &log; }

  /// Whether a rank that has proven itself may join; if so, @p join is called with its connection.
  using Judge = std::function<Verdict(uint32_t rank)>;
  using Join = std::function<void(uint32_t rank, FileDescriptor socket)>;
  /// Serves those that are there.
  void serve(const Judge& judge, const Join& join);
  /// Those who call wait, because this process may open no more descriptors.
  bool lacks_descriptors() const { return again_ns_ != 0; }

  /// The descriptors to wait for, and until when at most.
  void add_to(std::vector<pollfd>* entries) const;
  uint64_t next_deadline() const;
  size_t strangers() const { return strangers_.size(); }

 private:
  struct Stranger {
    FileDescriptor socket;
    SocketAddress from;
    uint64_t since;
    GreetingBytes greeting{};
    Nonce nonce{};
    std::array<uint8_t, 32> proof{};
    size_t received = 0;  // of the greeting, then of the proof
  };
  enum class Step { kWaits, kGoes, kGoesOn };

  using Strangers = std::list<Stranger>;

  void accept_all();
  void lack_descriptors();
  bool may_go(const Stranger& stranger, uint64_t now) const { return now >= goes_at(stranger); }
  uint64_t goes_at(const Stranger& stranger) const;
  bool lets_in() const;
  bool make_room();
  Step advance(Stranger& stranger);
  Step receive(Stranger& stranger, uint8_t* out, size_t size, size_t from);
  Step challenge(Stranger& stranger);
  Step check(Stranger& stranger);
  void answer(Stranger& stranger, Verdict verdict);
  void refuse(const Stranger& stranger, const char* why);

  const TcpSettings settings_;
  const uint64_t job_;
  const Limits limits_;
  Log* log_ = nullptr;
  FileDescriptor listener_;
  Strangers strangers_;          // the oldest first
  uint64_t again_ns_ = 0;        // 0: there are descriptors
  bool told_lack_ = false;       // of those, in the log
  std::set<std::string> named_;  // addresses that have had their line in the log
};

}  // namespace lci
