// One line an algorithm: A(collective, name, good for, builder, applicable when). Among those that apply, the
// first line of a collective is taken; the last one of each always applies. `s` is the Situation.
//
// The sizes were measured with four processes on two cores over shared memory and over Open MPI's (see
// select.cc). Another machine's choice is in a table that shoal-tune writes (table.h).
#pragma once

#define SHOAL_ALGORITHM_LIST(A)                                                                             \
  A(kAllReduce, "linear", "small data: one round", LinearAllReduce, s.bytes*(s.ranks - 1) <= kSmallBytes)   \
  A(kAllReduce, "hierarchical", "hosts of several processes: each byte once over the network",              \
    HierarchicalAllReduce, s.shares_hosts())                                                                \
  A(kAllReduce, "direct", "one host: two rounds, each byte read once", DirectAllReduce,                     \
    s.one_host() || s.ranks <= 4)                                                                           \
  A(kAllReduce, "halving_doubling", "middle sizes between hosts: few rounds", HalvingDoublingAllReduce,     \
    s.bytes <= kRingBytes * s.ranks)                                                                        \
  A(kAllReduce, "ring", "large data between many hosts: every link busy all the time", RingAllReduce, true) \
  A(kAllGather, "bruck", "small data between many ranks: few rounds", BruckAllGather,                       \
    s.ranks > 8 && s.bytes <= kSmallBytes * s.ranks)                                                        \
  A(kAllGather, "hierarchical", "hosts of several processes: each byte once over the network",              \
    HierarchicalAllGather, s.shares_hosts() && s.bytes > kSmallBytes)                                       \
  A(kAllGather, "linear", "one host or few ranks: one round, each byte read once", LinearAllGather,         \
    s.one_host() || s.ranks <= 4)                                                                           \
  A(kAllGather, "ring", "large data between many hosts", RingAllGather, true)                               \
  A(kReduceScatter, "hierarchical", "hosts of several processes: each byte once over the network",          \
    HierarchicalReduceScatter, s.shares_hosts() && s.bytes > kSmallBytes)                                   \
  A(kReduceScatter, "direct", "one host or small data: one round", DirectReduceScatter,                     \
    s.one_host() || s.ranks <= 4 || s.bytes <= kSmallBytes * s.ranks)                                       \
  A(kReduceScatter, "pairwise", "middle sizes: one message at a time, no extra memory",                     \
    PairwiseReduceScatter, s.bytes <= kRingBytes * s.ranks)                                                 \
  A(kReduceScatter, "ring", "large data between many hosts", RingReduceScatter, true)                       \
  A(kAllToAll, "linear", "one host or small data: all at once", LinearAllToAll,                             \
    s.one_host() || s.ranks <= 8 || s.bytes <= kSmallBytes * s.ranks)                                       \
  A(kAllToAll, "pairwise", "large data between many hosts: no link swamped", PairwiseAllToAll, true)        \
  A(kCollectiveBroadcast, "hierarchical", "hosts of several processes: once to each host",                  \
    HierarchicalBroadcast, s.shares_hosts())                                                                \
  A(kCollectiveBroadcast, "linear", "one host or few ranks: one round", LinearBroadcast,                    \
    s.ranks <= 3 || (s.one_host() && s.ranks <= 8))                                                         \
  A(kCollectiveBroadcast, "binomial", "many ranks: log2(ranks) rounds", BinomialBroadcast, true)
