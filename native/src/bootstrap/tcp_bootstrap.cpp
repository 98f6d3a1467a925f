// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_bootstrap.hpp"

#include <utility>

#include "base/error.hpp"
#include "bootstrap/tcp_member.hpp"
#include "bootstrap/tcp_root.hpp"
#include "host/socket.hpp"

namespace lci {
namespace {

std::unique_ptr<TcpSide> side_of(const TcpSettings& settings, const Meanwhile& meanwhile) {
  if (settings.rank == 0) return std::make_unique<TcpRoot>(settings, meanwhile);
  return std::make_unique<TcpMember>(settings, meanwhile);
}

}  // namespace

int TcpBootstrap::open(const Attributes& attributes, std::unique_ptr<Bootstrap>* out) {
  TcpSettings settings;
  const int code = TcpSettings::read(attributes, &settings);
  if (code == LCI_DONE) out->reset(new TcpBootstrap(settings));
  return code;
}

TcpBootstrap::TcpBootstrap(const TcpSettings& settings) : settings_(settings), side_(side_of(settings, meanwhile_)) {
  learn_job();
}

void TcpBootstrap::learn_job() {
  if (side_->job() != 0) job_id_ = id_text(side_->job());
}

int TcpBootstrap::publish(const std::string& key, const void* bytes, size_t n) {
  int code = check_publish(key, bytes, n);
  if (code == LCI_DONE) code = published_.check_room(key, n);
  if (code == LCI_DONE) code = values_.publish(rank(), key, completed_fences_ + 1, bytes, n);
  if (code == LCI_DONE) published_.add(rank(), key, bytes, n);
  return code;
}

int TcpBootstrap::barrier(uint64_t deadline_ns) {
  Shared all;
  int code = side_->exchange(share(published_.bytes()), deadline_ns, &all);
  learn_job();
  if (code == LCI_DONE) code = keep(*all);
  if (code != LCI_DONE) return code;
  ++completed_fences_;
  published_ = ValueList(completed_fences_ + 1);
  return LCI_DONE;
}

/// That of the way to rank 0, which is that of rank 0 itself on its host.
std::string TcpBootstrap::address_of_this_host() {
  std::vector<SocketAddress> roots;
  std::string why;
  if (settings_.find_root(&roots, &why) != LCI_DONE) return {};
  for (const SocketAddress& root : roots) {
    if (const SocketAddress here = address_towards(root); here.size() != 0) return here.host();
  }
  return {};
}

/// Its own are there already.
int TcpBootstrap::keep(const std::vector<uint8_t>& list) {
  uint64_t fence = 0;
  std::vector<ValueView> values;
  decode_values(list, &fence, &values);
  for (const ValueView& value : values) {
    if (value.rank == rank()) continue;
    const int code = values_.publish(value.rank, std::string(value.key), fence, value.bytes, value.size);
    if (code != LCI_DONE) return code;
  }
  return LCI_DONE;
}

int TcpBootstrap::get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) {
  if (const int code = check_get(rank, size(), key); code != LCI_DONE) return code;
  return values_.get(rank, key, completed_fences_, out);
}

}  // namespace lci
