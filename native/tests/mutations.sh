#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Do the tests notice a fault? For each deliberate fault in the core: every test that is named beside it passes without
# it, and fails with it.
#
#   mutations.sh [--build FOLDER] [NAME...]
#
# FOLDER: a build with LCI_MUTATIONS=ON; without it one is made in a temporary folder. NAME: only these mutations. Every
# mutation in the sources must have a row below, and every row a mutation.
set -euo pipefail

# name | executable | tests | what the fault is
# Tests: patterns of gtest, separated by blanks. In conformance one without a dot is a row, over ranks in one process.
# Each test that they match must fail, with any of its parameters that they match. A fault may have several rows.
readonly TABLE='
absent_engine_has_one_slot   | unit         | WithoutResources.SendersTo*            | who sends to a rank without engine 0 is expected to know
accept_mismatch              | unit         | FlowControl.APortNameThatDiffers*      | a sender with another name for a port is heard
admit_uncredited             | unit         | HostileLimits.LongMessages*            | a receiver makes room for all that is announced without credit
admit_without_room           | unit         | SendReceive.AMessageAboveTheBound*     | what has no room at its port is let in
admit_without_room           | conformance  | X8_*                                   |
allocate_always              | unit         | *SendReceivePath.Unexpected*           | what comes and goes is allocated anew
announce_without_limit       | unit         | HostileLimits.AnnouncementsTo*         | a peer may announce without end
answers_wait                 | unit         | Lane.AnswersGoOut*                     | credit for what just came goes out at the next occasion
arrivals_copied              | conformance  | B13_* B14_ArrivalsOfEveryKindAreFreedInOneWay | an arrival that could stay in its packet is copied
attributes_as_asked          | unit         | AttributeGetters.ShowWhatHolds         | what cannot be is shown as it was asked for
attributes_environment_first | unit         | Attributes.Precedence*                 | the environment beats what was set explicitly
attributes_ignore_unknown    | unit         | Attributes.UnknownEnvironment*         | a misspelt variable is silently ignored
attributes_may_differ        | unit         | Devices.RanksMustAgree* WithoutResources.AllRanksMustAgree* | ranks join with other attributes
backlog_bound_missed         | conformance  | X9_*                                   | one more waits in the backlog than may
backlog_forgets_signal       | unit         | SignalLedger.WhatWaited*               | what the backlog will signal is answered with done
backlog_not_served           | conformance  | X9_*                                   | progress leaves the backlog alone
backlog_out_of_order         | conformance  | X9_*                                   | the backlog to a rank is served from its end
backlog_overtaken            | conformance  | X9_*                                   | what is new goes past what waits in the backlog
barriers_without_limit       | unit         | PostBounds.BarriersAhead*              | a rank may be ahead of others by any number of barriers
believe_completed            | unit         | HostileNonsense.ALieAbout*             | who goes is believed how many barriers it has completed
blame_sender_for_memory      | unit         | Allocator.Refused*                     | a message for which there is no memory is charged anew at each attempt
bootstrap_by_rank            | unit         | BootstrapChain.RankAndSizeAlone*       | a rank without a job directory is taken for one of a job
bootstrap_order_fixed        | unit         | BootstrapChain.OrderAndAvailability*   | the order of bootstraps is not the one that was given
bootstrap_skip_claim         | unit         | *ADuplicateRankIsRefused*              | two processes may be the same rank
bootstrap_skip_fence         | unit         | *GetBeforeTheFenceIsAnError*           | a value is seen before its fence
bootstrap_skip_permissions   | unit         | FileBootstrap.OpenPermissions*         | a job directory that others can read is accepted
chunks_at_the_start          | unit         | SendReceive.EverySize*                 | every piece of a large message goes to its start
chunks_at_the_start          | conformance  | C2_*                                   |
close_ends_one_by_one        | unit         | Closing.EndsWhatHandlersPost*          | a device accepts posts while the close ends another one
close_forgets_receives       | unit         | Closing.LetsHandlersOfCancelled*       | unmatched receives are not told of the close
close_keeps_memory           | unit         | Runtimes.ComeAndGo                     | a closed runtime keeps its memory and files
closed_inboxes_stay          | unit         | ClosedInbox.*                          | an inbox that is closed stays until its lane goes
code_misnamed                | unit         | CodeName.Matches*                      | a code has the name of another
context_lost                 | unit         | SignalLedger.EveryOperation*           | a signal comes without its user_context
context_lost                 | conformance  | C1_EveryRowByEveryFormAndOption C5_*ByMessages D15_*ByMessages |
control_takes_packet         | unit         | SendReceive.CrossingRendezvous*        | control waits for a packet
control_waits_for_inboxes    | conformance  | X1_*                                   | control is not read while an inbox is full
copy_after_end               | unit         | CopyRunTest.NothingIs*                 | a short copy goes into a region that has ended
copy_always                  | unit         | Network.ReadsAllocated*                | what the receiver could read in place is copied
copy_loses_byte              | conformance  | C4_*                                   | the last byte of a put or get stays
counter_lost_update          | stress       | CounterStress.*                        | a counter adds with a load and a store
create_lanes_at_once         | unit         | LaneCreate.*                           | two threads create a lane for one device
counters_of_device_0         | unit         | Counters.TellWhatEach*                 | the counters of every device are those of the first
credit_for_all               | unit         | FlowControl.HandlersAndCounters*       | targets that store nothing need credit
custom_ignores_refusal       | unit         | CustomObject.MayRefuse                 | a refusal by a custom object is taken for a yes
custom_not_called            | unit         | CustomObject.IsSignalled*              | a custom object is not told
debugger_not_awaited         | multiprocess | Debugger.Sigstop* Debugger.AnythingElse* | nobody waits for the debugger
defaults_of_reference        | unit         | Attributes.Defaults*                   | a default is that of the reference
disallowed_done              | unit         | *AllowFlags*/NoDonePostedRetry         | done is answered although it was disallowed
disallowed_done              | conformance  | C1_EveryRowByEveryFormAndOption        |
disallowed_retry             | conformance  | X9_*                                   | a retry is answered although it was disallowed
displacement_lost            | conformance  | B4_* C4_*                              | a put or get begins at the start of its region
done_backlog_signals         | unit         | SignalLedger.WhatWaited*               | what leaves the backlog is signalled although it was done
done_signals                 | unit         | SignalLedger.EveryOperation* *AllowFlags* | what is done is signalled as well
done_signals                 | conformance  | C1_EveryRowByEveryFormAndOption D2_*   |
doorbell_not_rung            | unit         | LaneDoorbell.*                         | a loop is not told where something came
double_signal                | unit         | *AllowFlags*/NoDonePostedRetry         | what was done at once is signalled twice
drained_forgets_receives     | unit         | Drained.AnUnmatched*                   | an unmatched receive does not count
drop_delayed                 | unit         | Chaos.NothingIsLost*                   | a message that chaos held back is never sent
empty_refused                | unit         | SendReceive.EverySize*                 | no bytes at null are an error
empty_refused                | conformance  | B3_* C1_EveryRowByEveryFormAndOption   |
engine_drops_receives        | unit         | Engines.FreeingEnds*                   | receives of a freed engine are forgotten
engine_number_lost           | unit         | Engines.TheSameTag*                    | every send goes to the first engine
engine_number_lost           | conformance  | C18_*                                  |
enter_always_progresses      | unit         | LaneDispatch.PostsFromWithin*          | an enter that only posts progresses as well
error_breaks_channel         | unit         | Progress.ABatch*                       | after an error the rest of a batch is dropped
error_ends_batch             | unit         | Lane.EveryDescriptor* LaneOutcomes.Match* | after an error the rest of the submitted is not attempted
errors_end_barriers          | unit         | HostileNonsense.ALieAbout*             | who ends a barrier for a lie leaves those in it who cannot know
exception_crosses            | unit         | Handler.Exceptions* CustomObject.Exceptions* *HandlerRules.Exceptions* | an exception of a handler goes through the core
first_device_forgets_replies | unit         | ReplyRoom.IsFreeAgainThough*           | what a device asked the dead after device 0 knew keeps its room
first_device_ends_receives   | unit         | PeerFailure.ReceivesWaitFor*           | receives end while another device has their message unread
first_fini_closes            | unit         | GlobalRuntime.LivesFrom*               | the first fini of several closes the global runtime
forget_behind_backlog        | unit         | LaneOutcomes.WhoIsBehind*              | who is behind the backlog of its own batch is never told
forget_departure             | unit         | Network.SignalsOnce*                   | a packet that comes back ends no operation
forget_discards              | conformance  | X13_*Lanes*                            | what a closed inbox throws away is not counted
forget_left_behind           | unit         | PeerFailure.WhatTheDeadLeftBehind*     | what the dead announced is not counted while it waits for room
forget_matched               | unit         | LaneReceive.ThatIsMatched*             | a lane that goes leaves the senders of what it had matched waiting
forget_refused               | unit         | Lane.ARefusedSender*                   | a sender is told of room when there is none
forget_stored_request        | unit         | ReplyRoom.IsFreeAgainWhenStored*       | a request that was stored and discarded keeps its room
free_under_delivery          | unit         | ObjectLifetime.Freeing*                | an object goes while an arrival is handed to it
free_while_in_use            | unit         | CompletionObject.WithAPending* CustomObject.ObjectsInUse* | a completion object is freed while an operation is to signal it
get_without_limit            | unit         | HostileLimits.GetsThat*                | a peer may ask for gets without end
gone_before_matched          | unit         | PeerFailure.WhatTheGoneHadSent*        | what the gone had sent before is withheld from receives
graph_drop_edge              | stress       | GraphStress.RandomGraphs               | a node does not wait for its last predecessor
graph_end_early              | unit         | Graph.WaitsForNodesWithout*            | a run ends while nodes without a path to END are at work
graph_ends_twice             | unit         | Graph.SignalsItsCompletion*            | a run signals its end twice
graph_fire_twice             | unit         | Graph.RunsRandomGraphs                 | a node runs twice
graph_fires_in_handler       | unit         | Graph.StartedByAHandler*               | a graph that a handler starts runs inside of the handler
graph_host_lost              | unit         | LaneGraph.EndsARun* LaneGraph.Alternates* | the loop is not told of a host node
graph_keep_receives          | unit         | GraphOperations.AFailureCancels*       | a run that failed waits for receives that nobody will match
graph_operation_ends_early   | unit         | GraphOperations.ExchangeWith* GraphOperations.Advance* | a posted operation is taken for completed
graph_signal_twice           | unit         | Graph.WaitsForPosted*                  | a node takes a signal that it does not wait for
growth_loses                 | stress       | GrowingArrayStress.*                   | a growing array forgets what it held
handle_names_next            | conformance  | B4_*                                   | a handle names another region
handler_in_backlog           | conformance  | H13_Handlers*                          | what a handler posts while the backlog is served is taken for a part of it
handlers_may_not_post        | unit         | Closing.LetsHandlersPost *HandlerRules.PostsWithoutRetry* | a handler may not post
hazard_ignored               | unit         | HazardDomain.WhatIsRead*               | what an operation reads is deleted under it
hello_forgets_descriptors    | unit         | HelloTest.ExactlyOne*                  | what a stranger sends along stays open
ignore_allocator             | conformance  | A10_*                                  | arrivals lie in memory of malloc, not of the allocator
ignore_budget                | unit         | LaneBudget.EndsAnEnter LaneBudget.GoesRound* | an enter handles all that has arrived
ignore_credit                | unit         | FlowControl.NeverStoresMore* SendReceive.AnUnexpectedFlood* | a sender spends credit that it does not have
ignore_death                 | multiprocess | Job.AKilledRank*                       | a process that died is taken for a living one
ignore_demand                | unit         | Lane.InboxesAreDrained*                | an inbox gives more than was requested
info_hides_build             | unit         | Info.SaysWhatWasBuilt                  | a build with faults does not say so
inline_without_limit         | conformance  | G1_InlineMessages                      | an inline payload may have any length
keep_dead_lease              | unit         | PeerFailure.ADeadHolder*               | what a dead sender had leased never comes back
keep_lent_packet             | unit         | ZeroCopy.FreedPackets*                 | a packet that its reader freed stays away
keep_lent_packet             | conformance  | B14_ArrivalsOfEveryKindAreFreedInOneWay |
keep_region_key              | unit         | RemoteMemory.AHandleOpens*             | a handle outlives its region
keep_released                | unit         | KeptMessages.StayWhere*                | a message that its loop released stays charged
keep_synchronized_arrival    | unit         | LaneSynchronizer.FiresFor*             | what comes to a synchronizer of a lane keeps its room
keep_taken_block             | unit         | KeptBlocks.TheLast*                    | a block that was handed out is handed out again
kind_of_next_opening         | stress       | ReopenedKindStress.*                   | an arrival is delivered as the next opening of its port wants it
lane_lets_all_in             | unit         | Lane.LetsNobodyIn*                     | two threads are inside a lane
late_engine_ends_receives    | unit         | PeerFailure.WhatTheGoneHadAnnounced*   | receives of a late engine end before the sends announced to it are there
late_room_untold             | unit         | PutGetBounds.ALaneHearsThatItsBacklog* | the backlog sleeps although there is room again since this pass looked at it
lcrq_lose_at_close           | unit         | Lcrq.Grows*                            | the status that finds its ring closed is lost
leak_packet                  | unit         | ActiveMessage.Carries*                 | packets that come back do not reach the pool
leak_packet                  | conformance  | X6_*                                   |
lease_never_recalled         | unit         | FlowControl.IdleLease*                 | idle senders keep their credit
local_not_there              | unit         | BootstrapChain.LocalIs* GlobalRuntime.IsWhatNullMeans | without a launcher there is no runtime
log_ends_with_runtime        | unit         | Log.TellsWhatClosing*                  | what closing writes into the log cannot be read
log_everything               | unit         | Log.WritesUpTo*                        | lines above the level are written
long_message_unheard         | unit         | PostBounds.ALongMessage*               | a long message whose end nobody would hear of waits in the backlog
look_progresses              | unit         | Waiting.LooksDoNotProgress Progress.IsTheCallersAlone | looking at a queue progresses
lose_bundle_end              | unit         | ReturnedPackets*                       | of a full bundle the last packet stays away
lose_other_returns           | unit         | ReturnedPacketsTest.WhatNobodyHas* ZeroCopy.APacketThat* | what comes back behind a packet that nobody has is lost
lose_return                  | unit         | ActiveMessage.Carries*                 | packets are not given back to their sender
match_any_key                | unit         | HostileLimits.AKeyOfTheWrongKind*      | a peer may give keys to an engine that makes them
match_in_post_signals        | unit         | SendReceive.EverySize*                 | a receive that matches in its post is signalled as well
matching_lifo                | unit         | *OneKeyIsFirstInFirstOut*              | equal keys match in the wrong order
matching_locks_twice         | unit         | *SendReceivePath.*                     | a bucket is locked twice for one message
matching_no_lock             | stress       | *MatchingStress*                       | a bucket is changed without its lock
miss_packets                 | unit         | Lane.ARefusedPacket*                   | who was refused a packet is told of the next one only
mix_generations              | unit         | Capacity.CreditOf*                     | credit of a port that was closed counts for its next opening
old_grant_counts             | unit         | ReopenedPort.IsNotClosedBy*            | credit of an earlier opening of a port is taken for that of this one
packet_back_first            | unit         | NoMemory.OfAReceive*                   | a piece for which there is no memory gives its packet back each time
packet_loses_byte            | conformance  | G2_*                                   | the last byte is not copied to the packet
packets_to_the_tail          | unit         | PacketReturn.WhatCarriedMuch*          | a packet that carried much goes where the others go
park_never_sleeps            | stress       | Idle.SilentLoopsPark                   | a loop with nothing to do does not sleep
part_ends_next_opening       | unit         | PortParts.ClosingAPart*                | a part that closes late closes the port that was opened anew
part_of_any_tag              | unit         | PortParts.ATagNames*                   | every message goes to the first part
part_opens_port              | unit         | PortParts.NothingIsGranted*            | a port grants credit before its last part is there
part_returns_alone           | stress       | PortPartsStress.NothingIsLost*         | a lane gives back to a key as if no other lane did
payload_over_context         | conformance  | B11_*                                  | the payload of a packet begins in its context
plain_form_forgets           | conformance  | A8_PlainForm*                          | a plain form does not pass everything on
pin_keeps_all                | unit         | ThreadPin.AnOffset*                    | a thread may go on using every CPU
policy_of_sender_ignored     | unit         | SendReceive.PoliciesDoNotMeet          | every send matches as if by rank and tag
policy_of_sender_ignored     | conformance  | C11_*                                  |
poll_blocks                  | unit         | Progress.NobodyWaits*                  | who finds a device taken waits for it
pool_not_bound               | unit         | PacketPools.DevicesTakeFromTheirOwn    | a device takes packets from the first pool
pool_skip_put_check          | unit         | PacketPoolDeathTest.*                  | a packet that is put twice is not noticed
pool_steal_copies            | unit         | PacketPool.Steals*                     | a stolen packet stays with its victim as well
pop_many_takes_one           | unit         | *CompletionQueues.PopMany*             | popping several gives one
port_opens_twice             | conformance  | B25_*                                  | a port that is open is opened again
post_twice                   | unit         | Lane.PostsAreArrivals*                 | a message is sent twice
progress_hides_moves         | unit         | Progress.IsTheCallersAlone             | progress says that nothing moved
progress_serves_all          | unit         | Waiting.OnlyNamedDevices* Devices.TrafficStays* | progress of a device serves the others
progress_serves_all          | conformance  | SS_53_*                                |
progress_unlocked            | conformance  | C19_*                                  | several threads are inside a device
put_keeps_no_copy            | conformance  | G1_InlineAndPacketPutsByMessages       | a put that its caller may overwrite is not copied
put_loses_packet             | unit         | UserPackets.APoolRunsDry*              | a packet that is given back is lost
put_packet_twice             | unit         | UserPackets.MisuseIsRefused            | a packet that nobody holds is taken back
queue_overwrite              | unit         | ArrayQueue.Overflow*                   | a full queue loses its oldest status
queue_place_untold           | unit         | LaneFullQueue.* LanePlace.*            | a lane that was refused a place in a queue is not told of a pop
queue_skip_tag               | stress       | *CompletionQueueStress.EveryStatus*    | a pop takes a cell that is not filled yet
rank_of_target               | conformance  | C5_* G11_*                             | an arrival names its receiver as its source
receives_wait_for_credit     | unit         | GraphOperations.AreCancelledThough* HandedOver.ReceivesAnd* | receives, cancels and barriers wait behind what lacks credit
reclaim_from_living          | unit         | ZeroCopy.PacketsStay*                  | the packets of a rank that is treated as failed go to others while it reads
refusal_before_ready         | unit         | Engines.FreeingLetsGoOn*               | that an engine ended is told before what it had matched
refusal_blocks_all           | unit         | Lane.ARankWithoutDemand*               | one refused key holds up the others of its batch
refusal_ends_later_sends     | unit         | ReopenedPort.IsNotClosedBy*            | that a port closed ends also what was sent after it opened again
refusal_of_one_only          | unit         | LaneOutcomes.NoPacket*                 | a refusal of a device stops one descriptor only
refused_packet_lost          | unit         | Retry.LeavesNoTrace                    | a post that is refused takes its packet
refused_packet_lost          | conformance  | SS22_*                                 |
registers_for_good           | conformance  | B6_*                                   | what is registered on the fly stays registered
registration_shared          | conformance  | B3_*                                   | memory that is registered twice is one region
remote_room_untold           | unit         | PutGetBounds.ALaneHears*               | a lane is not told that there is room for more puts and gets
rendezvous_is_done           | unit         | SendReceive.EverySize*                 | a large send is answered with done before it was sent
rendezvous_is_done           | conformance  | C1_EveryRowByEveryFormAndOption SS59_* |
rendezvous_on_wrong_device   | conformance  | SS17_*                                 | a receive answers a large send over its own device
reopening_is_blamed          | stress       | ReopenedKindStress.*                   | a sender is blamed for what its port takes since it opened anew
reopening_untold             | unit         | ReopenedPort.IsNotClosedBy*            | who was refused does not hear that the port is open again
reply_needs_credit           | conformance  | X10_EchoesThrough*                     | replies wait for credit
reply_without_room           | unit         | ReplyRoom.IsReservedForEach*           | a request leaves although there is no room for its reply
reserve_at_once              | unit         | RemoteMemory.SignalsAre*               | pages are reserved by one call, whatever signals come meanwhile
resources_unasked            | unit         | WithoutResources.ARuntime*             | what was not to be allocated is
retry_without_reason         | unit         | Retry.*                                | a retry does not say why
return_after_leaving         | unit         | ZeroCopy.WhatNobodyTookGoesWithItsRuntime | a rank that has left gives packets back that are not its any more
reuse_number_at_once         | unit         | LaneSynchronizer.Numbers*              | the number of a freed object is that of the next one
reuse_under_copy             | stress       | RmaStress.NoCopyReaches*               | a freed range is given away while a peer still copies
ring_show_early              | unit         | Ring.AGroupIsVisible*                  | a message is seen before its group is published
rma_lose_part                | conformance  | C13_ListsOfPutAndGet                   | of a list only the first part is put or got
rma_signal_first             | unit         | *PutSignal.NothingIsLost*              | a signal goes out before its data is in place
sides_alike                  | unit         | *Matching.PairsWhat*                   | both sides of an engine are one
signal_any_status            | unit         | Completion.SignalsMustBeFinal          | a retry can be signalled
signal_context_off           | unit         | Handler.GetsStatus* *HandlerRules.ProgressAndBlocking* | a handler may progress
signal_keeps_right           | unit         | *ReopenedUnderPut.*/Counter            | a signal comes uncredited to a port that needs credit since it opened anew
signal_loses_tag             | conformance  | C5_*                                   | the signal of a put comes without its tag
silent_push                  | unit         | LaneBell.Rings*                        | what others leave for a lane rings no bell
size_of_buffer               | unit         | SendReceive.EverySize*                 | a status has the size of the buffer
skip_wake                    | stress       | LostWakes.*                            | nobody wakes a parked loop
starve_streams               | unit         | Progress.AFloodLeavesRoom*             | who floods a ring keeps the pieces of large messages out of it
status_as_asked              | unit         | SendReceive.PoliciesDoNotMeet          | a status has the wildcards of its receive
status_keeps_code            | conformance  | D7_*                                   | a status that nobody filled does not say retry
synchronizer_fires_early     | unit         | Synchronizer.FollowsIts*               | a synchronizer fires before its threshold
synchronizer_many_winners    | stress       | SynchronizerStress.*                   | two threads take one firing
synchronizer_reset_first     | stress       | SynchronizerStress.*                   | a firing is reset before its statuses are copied
synchronizer_silent_overrun  | unit         | Synchronizer.Overrun*                  | a signal too many is dropped without a word
tag_cut                      | unit         | InOrder.Reordered*                     | matching compares 16 bits of a tag
tag_cut                      | conformance  | C15_* C12_*                            |
tags_unchecked               | unit         | Arguments.*                            | a tag that does not fit is cut
tags_unchecked               | conformance  | C15_* SS35_*                           |
truncation_unseen            | unit         | SendReceive.Truncation*                | a message that was cut is taken for a whole one
trust_displacement           | unit         | HostilePeer.HarmsOnlyItself            | a target believes where a peer says that its bytes go
trust_shared_table           | unit         | RegionTable.*                          | the owner finds its regions by words that peers can write
try_lock_always              | unit         | TryLock.*                              | the lock lets everybody in
user_signal_bare             | unit         | CustomObject.UserSignals*              | a signal of the user loses what it carries
users_key_ignored            | unit         | Engines.UsersKeys*                     | the function that makes keys is not asked
wait_never_expires           | unit         | Waiting.TheTimeEnds                    | a wait goes on when its time is over
wait_not                     | unit         | *AllowFlags*/DoneNoPostedRetry BlockingPost.NullObjects* | a blocking post comes back with posted
wildcards_not_seen           | unit         | SendReceive.PoliciesDoNotMeet          | a wildcard is compared
'
# A fault may show as waiting for ever: a test may take so long, and ten times what it took without the fault.
readonly PATIENCE_S=5 SOUND_PATIENCE_S=300

self=$(readlink -f "${BASH_SOURCE[0]}")
here=$(dirname "$self")
readonly self here
build=
made=
work=

rows() { grep . <<< "$TABLE"; }
# rows_of NAME: executable, tests and what the fault is, separated by tabs.
rows_of() {
  awk -F '|' -v name="$1" '{ gsub(/^ +| +$/, "", $1); if ($1 != name) next
    for (i = 2; i <= 4; i++) gsub(/^ +| +$/, "", $i)
    print $2 "\t" $3 "\t" $4 }' <<< "$TABLE"
}
names() { rows | awk '{ print $1 }' | sort -u; }
names_in_sources() { grep -rhoE 'LCI_MUTATED\("[a-z0-9_]+"\)' "$here/../src" | sed 's/.*("//; s/")//' | sort -u; }

make_build() {
  build=$(mktemp -d "${TMPDIR:-/tmp}/lci-mutations.XXXXXX")
  made=$build
  { cmake -S "$here/.." -B "$build" -DLCI_MUTATIONS=ON -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$build" -j2 --target lci_unit_tests lci_stress_tests lci_multiprocess_tests lci_conformance_tests; } > "$build/build.log" 2>&1 ||
    { tail -n 20 "$build/build.log" >&2; return 1; }
}
clean_up() {
  [[ -z $work ]] || rm -rf "$work"
  [[ -z $made ]] || rm -rf "$made"
}

# filter EXECUTABLE TESTS: the filter of gtest for a column of tests.
filter() {
  local pattern patterns parts=()
  read -ra patterns <<< "$2"
  for pattern in "${patterns[@]}"; do
    if [[ $1 == conformance && $pattern != *.* ]]; then pattern="*Conformance.$pattern/inproc"; fi
    parts+=("$pattern")
  done
  (IFS=:; echo "${parts[*]}")
}

# tests_of EXECUTABLE TESTS: a line for each test: its name without parameters, and the filter of those that are meant.
tests_of() {
  "$build/lci_$1_tests" --gtest_list_tests --gtest_filter="$(filter "$1" "$2")" | awk '
    /^[^ ]+\.$/ || /^[^ ]+\. +#/ { suite = $1; next }
    /^  / {
      name = suite $1
      sub(/^[^\/.]*\//, "", name)
      sub(/\/.*/, "", name)
      if (!(name in filter)) order[++count] = name
      filter[name] = filter[name] (filter[name] == "" ? "" : ":") suite $1
    }
    END { for (i = 1; i <= count; i++) print order[i] "\t" filter[order[i]] }'
}

# run_tests EXECUTABLE FILTER PATIENCE MUTATION LOG
run_tests() {
  # Always the small dose; the shell's own word about an abort is of no interest.
  { LCI_TIER='' LCI_MUTATION=$4 timeout --kill-after=5 "$3" "$build/lci_$1_tests" --gtest_filter="$2" > "$5" 2>&1 < /dev/null; } 2> /dev/null
}

# look_without NAME...: writes down which of their tests pass without a fault, and how long they take, in ms.
look_without() {
  local executable
  for name in "$@"; do rows_of "$name"; done > "$work/wanted"
  for executable in $(cut -f 1 "$work/wanted" | sort -u); do
    run_tests "$executable" "$(filter "$executable" "$(awk -F '\t' -v e="$executable" '$1 == e { print $2 }' "$work/wanted" | xargs)")" \
      "$SOUND_PATIENCE_S" '' "$work/$executable.log" || true
    sed -nE 's/^\[       OK \] ([^ ,]+).* \(([0-9]+) ms\)$/\1\t\2/p' "$work/$executable.log"
  done > "$work/sound"
}

# complain NAME WHAT
complain() { printf '%-29s FAILED  %s\n' "$1" "$2"; return 1; }

# patience FILTER: how long these tests may take under a fault, in seconds; fails if one of them fails without.
patience() {
  awk -F '\t' -v filter="$1" -v least="$PATIENCE_S" '
    { took[$1] = $2 }
    END {
      n = split(filter, tests, ":")
      for (i = 1; i <= n; i++) {
        if (!(tests[i] in took)) exit 1
        sum += took[tests[i]]
      }
      printf "%d\n", least + sum / 100
    }' "$work/sound"
}

# judge NAME: prints its line; fails when one of the tests does not tell the fault from its absence.
judge() {
  local name=$1 executable tests what fault='' pattern patterns test filter seconds noticed=0 late=0 code log
  log=$work/$name.log
  while IFS=$'\t' read -r executable tests what; do
    fault=${fault:-$what}
    read -ra patterns <<< "$tests"
    for pattern in "${patterns[@]}"; do
      [[ -n $(tests_of "$executable" "$pattern") ]] || { complain "$name" "no test is called $pattern"; return 1; }
    done
    tests_of "$executable" "$tests" > "$work/$name.tests"
    while IFS=$'\t' read -r test filter; do
      seconds=$(patience "$filter") || { complain "$name" "$test fails without the fault"; return 1; }
      code=0
      run_tests "$executable" "$filter" "$seconds" "$name" "$log" || code=$?
      case $code in
        0) complain "$name" "not noticed by $test: $fault"; return 1 ;;
        124 | 137) late=$((late + 1)) ;;
        *) noticed=$((noticed + 1)) ;;
      esac
    done < "$work/$name.tests"
  done < <(rows_of "$name")
  printf '%-29s ok      noticed by %d%s: %s\n' "$name" "$((noticed + late))" \
    "$( ((late == 0)) || echo " ($late by not ending)")" "$fault"
}

main() {
  local wanted=() name difference failed
  while (($# > 0)); do
    case $1 in
      --build) (($# > 1)) || { echo "--build needs a folder" >&2; exit 2; }; build=$2; shift 2 ;;
      *) wanted+=("$1"); shift ;;
    esac
  done
  difference=$(diff <(names_in_sources) <(names)) || {
    echo "sources (<) and table (>) differ:" >&2
    grep '^[<>]' <<< "$difference" >&2
    exit 1
  }
  trap clean_up EXIT
  [[ -n $build ]] || make_build
  work=$(mktemp -d "${TMPDIR:-/tmp}/lci-mutations-work.XXXXXX")
  ((${#wanted[@]} > 0)) || mapfile -t wanted < <(names)
  for name in "${wanted[@]}"; do
    [[ -n $(rows_of "$name") ]] || { echo "no such mutation: $name" >&2; exit 2; }
  done
  look_without "${wanted[@]}"
  # Two at a time: much of it is waiting for what does not come.
  printf '%s\n' "${wanted[@]}" | xargs -P 2 -I '{}' "$self" --judge "$build" "$work" '{}' | tee "$work/verdicts" || true
  failed=$(grep -c ' FAILED  ' "$work/verdicts" || true)
  echo "$(grep -c ' ok  ' "$work/verdicts" || true) passed, $failed failed"
  ((failed == 0)) && (($(wc -l < "$work/verdicts") == ${#wanted[@]}))
}

# How it calls itself for one fault: --judge BUILD WORK NAME
if [[ ${1:-} == --judge ]]; then
  build=$2 work=$3
  judge "$4"
else
  main "$@"
fi
