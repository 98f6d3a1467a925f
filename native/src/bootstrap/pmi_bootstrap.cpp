// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmi_bootstrap.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <climits>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/pmi_text.hpp"
#include "host/socket_address.hpp"

namespace lci {
namespace {

constexpr char kJob[] = "job";
constexpr size_t kIdDigits = 16;
constexpr size_t kLongestJobText = 128;
constexpr size_t kLongestListText = kMostValueBytes / 3 * 4 + 4;

}  // namespace

int PmiBootstrap::open(const Attributes& attributes, PmiVersion version, std::unique_ptr<Bootstrap>* out) {
  PmiSettings settings;
  std::shared_ptr<PmiConnection> connection;
  int code = PmiSettings::read(attributes, version, &settings);
  if (code == LCI_DONE) code = PmiConnection::of_this_process(settings, &connection);
  if (code != LCI_DONE) return code;
  connection->tell_place(&settings);
  return open(settings, std::move(connection), out);
}

int PmiBootstrap::open(const PmiSettings& settings, std::shared_ptr<PmiConnection> connection,
                       std::unique_ptr<Bootstrap>* out) {
  const int code = check_place(PmiSettings::title(settings.version), settings.rank, settings.size);
  if (code == LCI_DONE) out->reset(new PmiBootstrap(settings, std::move(connection)));
  return code;
}

PmiBootstrap::PmiBootstrap(const PmiSettings& settings, std::shared_ptr<PmiConnection> connection)
    : settings_(settings), connection_(std::move(connection)) {
  if (rank() != 0) return;
  job_id_ = id_text(random_id());
  if (!settings_.has_secret) settings_.secret = random_secret();
}

int PmiBootstrap::publish(const std::string& key, const void* bytes, size_t n) {
  int code = check_publish(key, bytes, n);
  if (code == LCI_DONE) code = published_.check_room(key, n);
  if (code == LCI_DONE) code = values_.publish(rank(), key, fences_.size() + 1, bytes, n);
  if (code == LCI_DONE) published_.add(rank(), key, bytes, n);
  return code;
}

PmiConnection::Texts PmiBootstrap::texts() const {
  PmiConnection::Texts result{{std::to_string(rank()), to_text(published_.bytes())}};
  if (rank() == 0 && fences_.empty()) result.emplace_back(kJob, job_text());
  return result;
}

int PmiBootstrap::barrier(uint64_t deadline_ns) {
  uint64_t fence = 0;
  int code = connection_->meet(texts(), deadline_ns, &fence, meanwhile_);
  if (code != LCI_DONE) return not_met(code);
  fences_.push_back(fence);
  published_ = ValueList(fences_.size() + 1);
  return fences_.size() == 1 && rank() != 0 ? learn_job(deadline_ns) : LCI_DONE;
}

int PmiBootstrap::not_met(int code) const {
  if (code != LCI_ERR_TIMEOUT) return code;
  const std::string why = last_error();
  return fail(
      code,
      "barrier %zu of job %s: the deadline has passed, and not all of %u ranks have come; the launcher does not "
      "tell which are missing: look at their output (%s)",
      fences_.size() + 1, job_id_.empty() ? "(not known yet)" : job_id_.c_str(), size(), why.c_str());
}

/// The id and, where rank 0 has made one, the secret.
std::string PmiBootstrap::job_text() const {
  if (settings_.has_secret) return job_id_;
  return job_id_ + to_text({settings_.secret.begin(), settings_.secret.end()});
}

int PmiBootstrap::learn_job(uint64_t deadline_ns) {
  std::string text;
  const int code = connection_->read(fences_.front(), 0, kJob, kLongestJobText, deadline_ns, &text);
  if (code != LCI_DONE) return code;
  std::vector<uint8_t> secret;
  const std::string id = text.substr(0, kIdDigits);
  if (!parse_id(id) || !from_text(std::string_view(text).substr(id.size()), &secret) ||
      (!secret.empty() && secret.size() != settings_.secret.size())) {
    return fail(LCI_ERR_BOOTSTRAP, "bootstrap %s: what rank 0 says of the job makes no sense", name());
  }
  if (secret.empty() == !settings_.has_secret) {
    return fail(LCI_ERR_BOOTSTRAP,
                "bootstrap %s: %s has a secret file and %s has none; give all ranks the same "
                "LCI_SECRET_FILE, or none",
                name(), settings_.has_secret ? "this rank" : "rank 0", settings_.has_secret ? "rank 0" : "this rank");
  }
  if (!secret.empty()) std::copy(secret.begin(), secret.end(), settings_.secret.begin());
  job_id_ = id;
  return LCI_DONE;
}

int PmiBootstrap::get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) {
  int code = check_get(rank, size(), key);
  if (code == LCI_DONE && rank != this->rank()) code = read_lists(rank);
  return code == LCI_DONE ? values_.get(rank, key, fences_.size(), out) : code;
}

/// Those of a rank that have not been read yet.
int PmiBootstrap::read_lists(uint32_t rank) {
  for (size_t& read = read_[rank]; read < fences_.size(); ++read) {
    std::string text;
    std::vector<uint8_t> list;
    const uint64_t deadline = now_ns() + PmiConnection::kPatience;
    const int code = connection_->read(fences_[read], rank, std::to_string(rank), kLongestListText, deadline, &text);
    if (code != LCI_DONE) return blame(rank, code);
    if (!from_text(text, &list)) list.clear();  // which is no list either
    if (const int kept = keep(rank, read + 1, list); kept != LCI_DONE) return blame(rank, kept);
  }
  return LCI_DONE;
}

int PmiBootstrap::keep(uint32_t rank, uint64_t barrier, const std::vector<uint8_t>& list) {
  uint64_t fence = 0;
  std::vector<ValueView> values;
  bool right = decode_values(list, &fence, &values) && fence == barrier;
  for (size_t i = 0; right && i < values.size(); ++i) {
    const ValueView& value = values[i];
    right = value.rank == rank &&
            values_.publish(rank, std::string(value.key), barrier, value.bytes, value.size) == LCI_DONE;
  }
  if (right) return LCI_DONE;
  return fail(LCI_ERR_BOOTSTRAP,
              "bootstrap %s: what rank %u has put for barrier %" PRIu64
              " makes no sense, or is of another runtime: all "
              "ranks make their runtimes in the same order",
              name(), rank, barrier);
}

/// The first address of the host's name that other hosts may reach.
std::string PmiBootstrap::address_of_this_host() {
  char host[HOST_NAME_MAX + 1] = "";
  if (::gethostname(host, sizeof host - 1) != 0) return {};
  std::string why;
  for (const SocketAddress& address : resolve({host, 1}, &why)) {
    if (!address.is_loopback()) return address.host();
  }
  return {};
}

}  // namespace lci
