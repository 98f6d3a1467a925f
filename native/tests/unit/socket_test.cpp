// SPDX-License-Identifier: Apache-2.0
#include "host/socket.hpp"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <string>

#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;

SocketAddress loopback(uint16_t port = 0, const char* host = "127.0.0.1") {
  std::string why;
  const auto addresses = resolve({host, port}, &why);
  EXPECT_FALSE(addresses.empty()) << host << ": " << why;
  return addresses.empty() ? SocketAddress() : addresses.front();
}

bool has_ipv6() {
  return listen_at(loopback(0, "::1")).get() >= 0;
}

/// Both ends of a connection.
struct Connection {
  explicit Connection(const FileDescriptor& listener) {
    near = connect_to(local_address(listener.get()));
    EXPECT_GE(near.get(), 0);
    EXPECT_TRUE(wait_for(listener.get(), false, Deadline(30).ns()));
    far = accept_from(listener.get(), &from);
    EXPECT_TRUE(wait_for(near.get(), true, Deadline(30).ns()));
    EXPECT_EQ(0, connect_outcome(near.get()));
  }
  FileDescriptor near, far;
  SocketAddress from;
};

std::string receive(int socket, size_t size) {
  std::string text(size, '\0');
  EXPECT_TRUE(wait_for(socket, false, Deadline(30).ns()));
  text.resize(receive_some(socket, text.data(), size).bytes);
  return text;
}

TEST(HostAndPort, AreReadAsPeopleWriteThem) {
  const auto name = parse_host_and_port("node-0.job:4711");
  ASSERT_TRUE(name);
  EXPECT_EQ("node-0.job", name->host);
  EXPECT_EQ(4711, name->port);
  const auto address = parse_host_and_port("[fe80::1%eth0]:65535");
  ASSERT_TRUE(address);
  EXPECT_EQ("fe80::1%eth0", address->host);
  EXPECT_EQ(65535, address->port);
  for (const char* bad : {"", ":", "host", "host:", ":1", "host:0", "host:65536", "host:-1", "host:1x", "host: 1",
                          "::1:1", "[::1]", "[::1", "[host]:1", "[]:1", "[::1]x:1", "a]:1"}) {
    EXPECT_FALSE(parse_host_and_port(bad)) << bad;
  }
}

TEST(SocketAddress, ShowsItselfAsPeopleWriteIt) {
  const SocketAddress four = loopback(4711);
  EXPECT_EQ("127.0.0.1:4711", four.text());
  EXPECT_EQ("127.0.0.1", four.host());
  EXPECT_EQ("127.0.0.1:1", four.with_port(1).text());
  EXPECT_EQ("[::1]:4711", loopback(4711, "::1").text());
  EXPECT_EQ(four, loopback(4711));
  EXPECT_FALSE(four == four.with_port(4712));
  EXPECT_FALSE(SocketAddress::from(four.get(), 3));
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_FALSE(SocketAddress::from(&other, sizeof other));
}

TEST(SocketAddress, KnowsWhatOtherHostsDoNotReach) {
  for (const char* near : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(loopback(1, near).is_loopback()) << near;
  }
  for (const char* far : {"128.0.0.1", "10.67.0.1", "0.0.0.0", "::", "fd00::1", "::ffff:10.67.0.1"}) {
    EXPECT_FALSE(loopback(1, far).is_loopback()) << far;
  }
}

TEST(SocketAddress, ANameWithoutAnAddressSaysWhy) {
  std::string why;
  EXPECT_TRUE(resolve({"no such name", 1}, &why).empty());
  EXPECT_FALSE(why.empty());
}

TEST(Socket, CarriesBytesBothWays) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    if (host == std::string("::1") && !has_ipv6()) continue;
    const FileDescriptor listener = listen_at(loopback(0, host));
    ASSERT_GE(listener.get(), 0) << host;
    EXPECT_NE(0, local_address(listener.get()).port());
    SocketAddress nobody;
    EXPECT_LT(accept_from(listener.get(), &nobody).get(), 0);
    EXPECT_EQ(EAGAIN, errno);

    const Connection connection(listener);
    EXPECT_EQ(local_address(connection.near.get()), connection.from);
    char byte = 0;
    const Moved nothing = receive_some(connection.far.get(), &byte, 1);
    EXPECT_EQ(0u, nothing.bytes);
    EXPECT_FALSE(nothing.ended);
    EXPECT_EQ(5u, send_some(connection.near.get(), "there", 5).bytes);
    EXPECT_EQ("there", receive(connection.far.get(), 10));
    EXPECT_EQ(4u, send_some(connection.far.get(), "back", 4).bytes);
    EXPECT_EQ("back", receive(connection.near.get(), 10));
  }
}

TEST(Socket, NeverMakesItsCallerWait) {
  const FileDescriptor listener = listen_at(loopback());
  const Connection connection(listener);
  const std::string much(1 << 20, 'm');
  size_t sent = 0;
  for (Moved moved{1}; moved.bytes != 0; sent += moved.bytes) {  // until nothing has room for more
    moved = send_some(connection.near.get(), much.data(), much.size());
    EXPECT_FALSE(moved.ended);
  }
  EXPECT_GT(sent, 0u);
  EXPECT_FALSE(wait_for(connection.near.get(), true, 0));
}

TEST(Socket, TheEndOfThePeerIsNoSignal) {
  const FileDescriptor listener = listen_at(loopback());
  Connection connection(listener);
  connection.far = FileDescriptor();
  EXPECT_TRUE(wait_for(connection.near.get(), false, Deadline(30).ns()));
  char byte = 0;
  const Moved end = receive_some(connection.near.get(), &byte, 1);
  EXPECT_TRUE(end.ended);
  EXPECT_EQ(0, end.error);
  const Deadline deadline(30);
  Moved broken;
  while (!broken.ended && !deadline.passed()) broken = send_some(connection.near.get(), "x", 1);
  EXPECT_TRUE(broken.error == EPIPE || broken.error == ECONNRESET) << broken.error;
}

// Else what a side had said when its peer cut the connection would be lost, although it knows it to be there.
TEST(Socket, WhatIsNotHeardIsNotAcknowledged) {
  const FileDescriptor listener = listen_at(loopback());
  const Connection ends(listener);
  ASSERT_TRUE(stop_hearing(ends.near.get()));
  ASSERT_EQ(1u, send_some(ends.far.get(), "x", 1).bytes);
  int unread = -1, unsent = -1;
  EXPECT_EQ(0, ioctl(ends.near.get(), FIONREAD, &unread));
  EXPECT_EQ(0, ioctl(ends.far.get(), SIOCOUTQ, &unsent));
  EXPECT_EQ(0, unread);
  EXPECT_EQ(1, unsent);
  hear_again(ends.near.get());
  EXPECT_TRUE(wait_for(ends.near.get(), false, Deadline(30).ns()));
  char came = 0;
  EXPECT_EQ(1u, receive_some(ends.near.get(), &came, 1).bytes);
  EXPECT_EQ('x', came);
}

TEST(Socket, AConnectThatFailsSaysWhy) {
  FileDescriptor listener = listen_at(loopback());
  const SocketAddress address = local_address(listener.get());
  listener = FileDescriptor();
  const FileDescriptor socket = connect_to(address);
  if (socket.get() < 0) {
    EXPECT_EQ(ECONNREFUSED, errno);
    return;
  }
  EXPECT_TRUE(wait_for(socket.get(), true, Deadline(30).ns()));
  EXPECT_EQ(ECONNREFUSED, connect_outcome(socket.get()));
}

TEST(Socket, APortBelongsToOneListenerAndIsFreeAfterIt) {
  FileDescriptor first = listen_at(loopback());
  const SocketAddress address = local_address(first.get());
  EXPECT_LT(listen_at(address).get(), 0);
  EXPECT_EQ(EADDRINUSE, errno);
  const Connection lives(first);
  first = FileDescriptor();
  EXPECT_GE(listen_at(address).get(), 0) << errno;
}

TEST(Socket, AWaitEndsByItsDeadline) {
  const FileDescriptor listener = listen_at(loopback());
  EXPECT_FALSE(wait_for(listener.get(), false, 0));
  EXPECT_FALSE(wait_for(listener.get(), false, now_ns() + 2'000'000));
  EXPECT_EQ(0, poll_ms(0));
  EXPECT_GT(poll_ms(UINT64_MAX), 1'000'000);
}

}  // namespace
}  // namespace lci
