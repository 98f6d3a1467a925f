// SPDX-License-Identifier: Apache-2.0
// The counters by name, each with its sentence for lci_counter_help().
#pragma once

// clang-format off
#define LCI_COUNTERS(X) \
  X(operations_am_done, "Active messages that were done at once.") \
  X(operations_am_posted, "Active messages that were answered with posted; each is signalled once.") \
  X(operations_send_done, "Sends that were done at once.") \
  X(operations_send_posted, "Sends that were answered with posted; each is signalled once.") \
  X(operations_recv_done, "Receives whose message was there already.") \
  X(operations_recv_posted, "Receives that were answered with posted; each is signalled once.") \
  X(operations_barrier_posted, "Barriers that this rank entered; each is signalled once.") \
  X(operations_error, "Posts that were refused with an error; a cancel that comes too late is none.") \
  X(retries_lock, "Posts refused because another thread was at the device.") \
  X(retries_nopacket, "Posts refused because no packet was free.") \
  X(retries_nomem, "Posts refused because a ring or a completion queue was full.") \
  X(retries_backlog, "Posts refused because earlier ones to that rank wait in the backlog.") \
  X(retries_nocredit, "Posts refused because the receiver has granted no room.") \
  X(retries_pending, "Posts refused because too many operations were in flight.") \
  X(retries_order, "Descriptors of a batch that were not attempted, because an earlier one of their key was refused.") \
  X(arrivals, "Messages that came to this rank, signals of puts and gets included.") \
  X(arrival_bytes, "Bytes of payload of those messages.") \
  X(sent_bytes, "Bytes of payload that this rank has sent as messages.") \
  X(signals, "Signals of posted operations.") \
  X(signals_dropped, "Posted operations whose signal nobody can take: their lane was freed.") \
  X(packets_get, "Packets that were taken from the pools.") \
  X(packets_put, "Packets that came back to the pools.") \
  X(packets_steal, "Packets that one device took from another's deque.") \
  X(packets_miss, "Looks into a device's own deque that found no packet.") \
  X(packets_free, "Packets in the pools now.") \
  X(packets_capacity, "Packets that the pools have, free or not.") \
  X(packets_out, "Packets of this rank that are on their way or lie at a receiver now.") \
  X(backlog_push, "Operations and control messages that went into the backlog.") \
  X(backlog_pop, "Operations and control messages that left the backlog.") \
  X(backlog_depth, "Operations and control messages in the backlog now.") \
  X(grants, "Grants of credit that this rank has given.") \
  X(recalls, "Requests for unused credit that this rank has sent.") \
  X(returns, "Returns of unused credit that this rank has sent.") \
  X(announcements, "Messages that were announced because their sender had no credit.") \
  X(pulls, "Announced messages whose payload this rank has taken.") \
  X(discarded, "Messages and completions that were thrown away: the port, engine, object or peer was gone.") \
  X(progress_calls, "Passes over devices.") \
  X(progress_idle, "Passes that moved nothing.") \
  X(ring_full, "Posts that found the ring to their rank full.") \
  X(rendezvous, "Messages too long for a packet that were streamed.") \
  X(unexpected, "Sends that came before their receive.") \
  X(unexpected_stored, "Sends that no receive has matched, stored now.") \
  X(credits_leased, "Messages that peers may send, or have stored, at this rank's ports and engines now.") \
  X(lane_helps, "Passes over the devices of a lane by another thread than its own.") \
  X(parks, "Times that a lane's thread went to sleep.") \
  X(wakes, "Sleeping lanes that this rank has woken.") \
  X(late_wakes, "Sleeps that timed out over published work without a wake; must stay 0.") \
  X(peers_failed, "Ranks that died, or broke the protocol.") \
  X(peers_left, "Ranks that said goodbye.") \
  X(fenced, "1 if others count this rank as failed, so that it takes part no more.") \
  X(protocol_errors, "Messages that made no sense; their sender is treated as failed.") \
  X(links_resumed, "Connections to ranks that broke and were opened anew; nothing is lost or doubled by it.") \
  X(links_open, "Links to ranks over a network whose connection is open now; each device has its own.") \
  X(net_records_sent, "Records that links have made, those that only report included; a record carries what was ready.") \
  X(net_records_received, "Records that links have read, those that only report included.") \
  X(net_messages_sent, "Messages in the records that links have made, the core's own included.") \
  X(net_bytes_sent, "Bytes of records that links sent, before they are sealed; what went again over a new connection counts again.") \
  X(net_bytes_received, "Bytes of records that links received, after they were opened if they were sealed.") \
  X(net_stalls, "Times that a link had messages to send and the peer's windows, or its acknowledgements, left no room.") \
  X(strangers_refused, "Connections that this rank refused, because they did not prove in time that they are a rank of the job.") \
  X(chaos_cut, "Connections that attribute chaos reset.") \
  X(chaos_delayed, "Messages that attribute chaos held back.") \
  X(chaos_reordered, "Messages that overtook others because of attribute chaos.") \
  X(chaos_refused, "Posts that attribute chaos refused.") \
  X(chaos_killed, "Set as attribute chaos kills this rank; nobody lives to read it but a debugger.") \
  X(chaos_stalled, "Stalls of links by attribute chaos.") \
  X(receives_pending, "Receives that nothing has matched, now.") \
  X(sends_pending, "Long sends, and gets that this rank serves, under way now.") \
  X(operations_put_done, "Puts that were done at once.") \
  X(operations_put_posted, "Puts that were answered with posted; each is signalled once.") \
  X(operations_get_done, "Gets that were done at once.") \
  X(operations_get_posted, "Gets that were answered with posted; each is signalled once.") \
  X(operations_atomic_done, "Atomic operations that were done at once.") \
  X(operations_atomic_posted, "Atomic operations that were answered with posted; each is signalled once.") \
  X(rma_copied, "Bytes that puts, gets and atomic operations of this rank have reached themselves.") \
  X(rma_streamed, "Bytes that puts, gets and atomic operations of this rank have reached by messages.") \
  X(rma_served, "Bytes that this rank has moved or changed for puts, gets and atomic operations of others.") \
  X(rma_refused, "Pieces of such operations of others that were refused: the region had ended.") \
  X(memory_regions, "Regions that are open to peers now.") \
  X(memory_allocated, "Bytes of allocated regions now.") \
  X(memory_retired, "Regions that have ended, kept now because another process may still be inside a copy.") \
  X(packets_held, "Packets that the program holds now (lci_packet_get()).") \
  X(statuses_pushed, "Statuses that came into completion queues.") \
  X(statuses_popped, "Statuses that left completion queues: popped, or freed with their queue.") \
  X(collective_stalls, "Calls of groups that did not go on for long, each time that it was asked after.") \
  X(arrivals_overrun, "Messages that were discarded because the completion queue behind their port was full.")
// clang-format on
