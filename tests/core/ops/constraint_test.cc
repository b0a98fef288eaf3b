// Each row breaks one constraint of StableHLO's specification (or one of HLO's own, H<n>) and expects its
// label.
#include <string>

#include "absl/strings/str_cat.h"
#include "core/hlo/parser.h"
#include "core/ops/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

struct Case {
  const char* label;  // as the message begins
  const char* body;   // of the entry; x, y, z are parameters of the given shapes
};

constexpr char kRegions[] = R"(
add { l = f32[] parameter(0) r = f32[] parameter(1) ROOT s = f32[] add(l, r) }
addi { l = s32[] parameter(0) r = s32[] parameter(1) ROOT s = s32[] add(l, r) }
lt { l = f32[] parameter(0) r = f32[] parameter(1) ROOT s = pred[] compare(l, r), direction=LT }
neg { l = f32[5] parameter(0) ROOT s = f32[5] negate(l) }
sum { l = f32[5] parameter(0) z = f32[] constant(0) ROOT s = f32[] reduce(l, z), dimensions={0}, to_apply=add }
true { l = f32[5] parameter(0) ROOT s = pred[] constant(true) }
)";

constexpr Case kCases[] = {
    // elementwise
    {"abs I1", "x = pred[2] parameter(0) ROOT r = pred[2] abs(x)"},
    {"cosine I1", "x = s32[2] parameter(0) ROOT r = s32[2] cosine(x)"},
    {"add C1", "x = f32[2] parameter(0) y = f32[3] parameter(1) ROOT r = f32[2] add(x, y)"},
    {"add C1", "x = f32[2] parameter(0) y = f64[2] parameter(1) ROOT r = f32[2] add(x, y)"},
    {"and I1", "x = f32[2] parameter(0) ROOT r = f32[2] and(x, x)"},
    {"shift-left I1", "x = pred[2] parameter(0) ROOT r = pred[2] shift-left(x, x)"},
    {"bitcast-convert C1", "x = f32[2,3] parameter(0) ROOT r = s32[3,2] bitcast-convert(x)"},
    {"bitcast-convert C1", "x = f32[2,3] parameter(0) ROOT r = u8[2,3,2] bitcast-convert(x)"},
    {"bitcast-convert C2", "x = c64[2] parameter(0) ROOT r = f64[2] bitcast-convert(x)"},
    {"clamp C1", "x = f32[5] parameter(0) y = f32[3] parameter(1) ROOT r = f32[5] clamp(y, x, x)"},
    {"clamp C2", "x = f32[5] parameter(0) y = f32[3] parameter(1) ROOT r = f32[5] clamp(x, x, y)"},
    {"clamp C3", "x = f32[5] parameter(0) y = f64[] parameter(1) ROOT r = f32[5] clamp(y, x, x)"},
    {"compare C1",
     "x = f32[5] parameter(0) y = f64[5] parameter(1) ROOT r = pred[5] compare(x, y), direction=EQ"},
    {"compare C2",
     "x = f32[5] parameter(0) y = f32[6] parameter(1) ROOT r = pred[5] compare(x, y), direction=EQ"},
    {"complex I1", "x = f16[5] parameter(0) ROOT r = c64[5] complex(x, x)"},
    {"convert C1", "x = f32[5] parameter(0) ROOT r = f64[6] convert(x)"},
    {"reduce-precision C2",
     "x = f32[5] parameter(0) ROOT r = f32[5] reduce-precision(x), exponent_bits=0, mantissa_bits=3"},
    {"reduce-precision C3",
     "x = f32[5] parameter(0) ROOT r = f32[5] reduce-precision(x), exponent_bits=1, mantissa_bits=-1"},
    {"select I1", "x = f32[5] parameter(0) ROOT r = f32[5] select(x, x, x)"},
    {"select C1", "p = pred[4] parameter(0) x = f32[5] parameter(1) ROOT r = f32[5] select(p, x, x)"},
    {"select C2",
     "p = pred[] parameter(0) x = f32[5] parameter(1) y = f32[4] parameter(2) ROOT r = f32[5] select(p, x, "
     "y)"},
    // constant, rng
    {"iota C1", "ROOT r = f32[5] iota(), iota_dimension=1"},
    {"rng C1", "x = f64[] parameter(0) ROOT r = f32[5] rng(x, x), distribution=rng_uniform"},
    {"rng C2", "x = s32[] parameter(0) ROOT r = s32[5] rng(x, x), distribution=rng_normal"},
    {"rng-bit-generator C1",
     "x = u64[2] parameter(0) ROOT r = (u64[3], u32[2]) rng-bit-generator(x), algorithm=rng_philox"},
    {"rng-bit-generator C2",
     "x = u64[3] parameter(0) ROOT r = (u64[3], u32[2]) rng-bit-generator(x), algorithm=rng_three_fry"},
    // dot
    {"dot C1", "x = f32[2,3] parameter(0) ROOT r = f32[] dot(x, x), lhs_batch_dims={0}"},
    {"dot C2", "x = f32[2,3] parameter(0) ROOT r = f32[] dot(x, x), lhs_contracting_dims={0}"},
    {"dot C3",
     "x = f32[2,3] parameter(0) ROOT r = f32[] dot(x, x), lhs_contracting_dims={0,0}, "
     "rhs_contracting_dims={0,1}"},
    {"dot C4",
     "x = f32[2,2] parameter(0) ROOT r = f32[] dot(x, x), lhs_contracting_dims={0,1}, "
     "rhs_contracting_dims={1,1}"},
    {"dot C5", "x = f32[2,2] parameter(0) ROOT r = f32[] dot(x, x), lhs_batch_dims={2}, rhs_batch_dims={0}"},
    {"dot C6",
     "x = f32[2,2] parameter(0) ROOT r = f32[] dot(x, x), lhs_contracting_dims={-1}, "
     "rhs_contracting_dims={0}"},
    {"dot C7", "x = f32[2,2] parameter(0) ROOT r = f32[] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={2}"},
    {"dot C8",
     "x = f32[2,2] parameter(0) ROOT r = f32[] dot(x, x), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={9}"},
    {"dot C9", "x = f32[2,3] parameter(0) ROOT r = f32[] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={1}"},
    {"dot C10",
     "x = f32[2,3] parameter(0) ROOT r = f32[] dot(x, x), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={1}"},
    {"dot C13", "x = f32[2] parameter(0) y = s32[2] parameter(1) ROOT r = f32[2,2] dot(x, y)"},
    // convolution
    {"convolution C1",
     "x = f32[1,5,2] parameter(0) k = f32[3,2] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f"},
    {"convolution C2",
     "x = f32[1,5,2] parameter(0) k = f32[3,2,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "dim_labels=b0f_0io->b0f"},
    {"convolution C3",
     "x = f32[1,5,2] parameter(0) k = f32[3,2,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3 "
     "stride=0}, dim_labels=b0f_0io->b0f"},
    {"convolution C6",
     "x = f32[1,5,2] parameter(0) k = f32[3,2,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3 "
     "lhs_dilate=0}, dim_labels=b0f_0io->b0f"},
    {"convolution C8",
     "x = f32[1,5,2] parameter(0) k = f32[3,2,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3 "
     "rhs_dilate=-1}, dim_labels=b0f_0io->b0f"},
    {"convolution C10",
     "x = f32[3,5,2] parameter(0) k = f32[3,2,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=2"},
    {"convolution C11",
     "x = f32[3,5,3] parameter(0) k = f32[3,1,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=2"},
    {"convolution C14",
     "x = f32[3,5,3] parameter(0) k = f32[3,1,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f"},
    {"convolution C15",
     "x = f32[4,5,2] parameter(0) k = f32[3,2,5] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=2"},
    {"convolution C16",
     "x = f32[3,5,4] parameter(0) k = f32[3,2,5] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=2"},
    {"convolution C21",
     "x = f32[3,5,4] parameter(0) k = f32[3,4,5] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=0"},
    {"convolution C22",
     "x = f32[3,5,4] parameter(0) k = f32[3,4,5] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=0"},
    {"convolution C23",
     "x = f32[4,5,4] parameter(0) k = f32[3,2,4] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=2, feature_group_count=2"},
    {"convolution C27",
     "x = f32[3,5,4] parameter(0) k = s32[3,4,5] parameter(1) ROOT r = f32[1] convolution(x, k), "
     "window={size=3}, "
     "dim_labels=b0f_0io->b0f"},
    // reduce and windows
    {"reduce C1",
     "x = f32[3] parameter(0) y = f32[4] parameter(1) z = f32[] constant(0) ROOT r = f32[] reduce(x, y, z, "
     "z), "
     "dimensions={0}, to_apply=add"},
    {"reduce C2",
     "x = f32[3] parameter(0) z = f64[] constant(0) ROOT r = f32[] reduce(x, z), dimensions={0}, "
     "to_apply=add"},
    {"reduce C3", "x = f32[3] parameter(0) ROOT r = f32[] reduce(x), dimensions={0}, to_apply=add"},
    {"reduce C4",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(x, z), dimensions={1}, "
     "to_apply=add"},
    {"reduce C5",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(x, z), dimensions={0,0}, "
     "to_apply=add"},
    {"reduce C6",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(x, z), dimensions={0}, "
     "to_apply=lt"},
    {"reduce-window C1",
     "x = f32[3] parameter(0) ROOT r = f32[2] reduce-window(x), window={size=2}, to_apply=add"},
    {"reduce-window C3",
     "x = f32[3] parameter(0) z = s32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=2}, "
     "to_apply=add"},
    {"reduce-window C4",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=2x1}, "
     "to_apply=add"},
    {"reduce-window C5",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=0}, "
     "to_apply=add"},
    {"reduce-window C7",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=2 "
     "stride=0}, "
     "to_apply=add"},
    {"reduce-window C9",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=2 "
     "lhs_dilate=0}, "
     "to_apply=add"},
    {"reduce-window C11",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=2 "
     "rhs_dilate=0}, "
     "to_apply=add"},
    {"reduce-window C13",
     "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce-window(x, z), window={size=2}, "
     "to_apply=lt"},
    {"select-and-scatter C2",
     "x = f32[4] parameter(0) s = f32[3] parameter(1) z = f32[] constant(0) ROOT r = f32[4] "
     "select-and-scatter(x, s, z), "
     "window={size=2 stride=2}, select=lt, scatter=add"},
    {"select-and-scatter C9",
     "x = f32[4] parameter(0) s = f32[2] parameter(1) z = f32[] constant(0) ROOT r = f32[4] "
     "select-and-scatter(x, s, z), "
     "window={size=2 stride=2}, select=add, scatter=add"},
    // index maps
    {"broadcast C1", "x = f32[3] parameter(0) ROOT r = f64[2,3] broadcast(x), dimensions={1}"},
    {"broadcast C2", "x = f32[3] parameter(0) ROOT r = f32[2,3] broadcast(x), dimensions={}"},
    {"broadcast C3", "x = f32[3] parameter(0) ROOT r = f32[2,3] broadcast(x), dimensions={2}"},
    {"broadcast C4", "x = f32[3,3] parameter(0) ROOT r = f32[3,3] broadcast(x), dimensions={1,1}"},
    {"broadcast C5", "x = f32[1] parameter(0) ROOT r = f32[2,3] broadcast(x), dimensions={1}"},
    {"reshape C1", "x = f32[3] parameter(0) ROOT r = f64[3,1] reshape(x)"},
    {"reshape C2", "x = f32[3] parameter(0) ROOT r = f32[3,2] reshape(x)"},
    {"transpose C2", "x = f32[3,2] parameter(0) ROOT r = f32[3,2] transpose(x), dimensions={0,0}"},
    {"concatenate C1",
     "x = f32[3] parameter(0) y = s32[3] parameter(1) ROOT r = f32[6] concatenate(x, y), dimensions={0}"},
    {"concatenate C2",
     "x = f32[3,2] parameter(0) y = f32[3,3] parameter(1) ROOT r = f32[6,2] concatenate(x, y), "
     "dimensions={0}"},
    {"concatenate C3", "ROOT r = f32[6] concatenate(), dimensions={0}"},
    {"concatenate C4", "x = f32[3] parameter(0) ROOT r = f32[6] concatenate(x, x), dimensions={1}"},
    {"dynamic-slice C2",
     "x = f32[3,2] parameter(0) i = s32[] parameter(1) ROOT r = f32[1] dynamic-slice(x, i), "
     "dynamic_slice_sizes={1,1}"},
    {"dynamic-slice C3",
     "x = f32[3,2] parameter(0) i = s32[] parameter(1) j = s64[] parameter(2) ROOT r = f32[1,1] "
     "dynamic-slice(x, i, j), "
     "dynamic_slice_sizes={1,1}"},
    {"dynamic-slice C4",
     "x = f32[3] parameter(0) i = s32[] parameter(1) ROOT r = f32[4] dynamic-slice(x, i), "
     "dynamic_slice_sizes={4}"},
    {"dynamic-update-slice C2",
     "x = f32[3] parameter(0) u = s32[1] parameter(1) i = s32[] parameter(2) ROOT r = f32[3] "
     "dynamic-update-slice(x, u, i)"},
    {"dynamic-update-slice C3",
     "x = f32[3] parameter(0) u = f32[] parameter(1) i = s32[] parameter(2) ROOT r = f32[3] "
     "dynamic-update-slice(x, u, i)"},
    {"dynamic-update-slice C4",
     "x = f32[3] parameter(0) u = f32[1] parameter(1) ROOT r = f32[3] dynamic-update-slice(x, u)"},
    {"dynamic-update-slice C6",
     "x = f32[3] parameter(0) u = f32[4] parameter(1) i = s32[] parameter(2) ROOT r = f32[3] "
     "dynamic-update-slice(x, u, i)"},
    {"pad C1", "x = f32[3] parameter(0) z = s32[] constant(0) ROOT r = f32[4] pad(x, z), padding=1_0"},
    {"pad C2", "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[4] pad(x, z), padding=1_0x0_0"},
    {"pad C3", "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[4] pad(x, z), padding=1_0_-1"},
    {"pad C4", "x = f32[3] parameter(0) z = f32[] constant(0) ROOT r = f32[4] pad(x, z), padding=-2_-2"},
    {"reverse C2", "x = f32[3] parameter(0) ROOT r = f32[3] reverse(x), dimensions={0,0}"},
    {"reverse C3", "x = f32[3] parameter(0) ROOT r = f32[3] reverse(x), dimensions={1}"},
    {"slice C2", "x = f32[3] parameter(0) ROOT r = f32[3] slice(x), slice={[0:1], [0:1]}"},
    {"slice C3", "x = f32[3] parameter(0) ROOT r = f32[3] slice(x), slice={[0:4]}"},
    {"slice C4", "x = f32[3] parameter(0) ROOT r = f32[3] slice(x), slice={[0:3:0]}"},
    // gather, scatter
    {"gather C1",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C2",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=3, slice_sizes={1,5}"},
    {"gather C3",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C4",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1,0}, "
     "collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C5",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={2}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C8",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={2}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C9",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={2,5}"},
    {"gather C17",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, "
     "start_indices_batching_dims={0}, "
     "index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C19",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={2}, index_vector_dim=1, slice_sizes={1,5}"},
    {"gather C20",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}"},
    {"gather C21",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) ROOT r = f32[4,5] gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}"},
    {"scatter C2",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) u = f32[4,5] parameter(2) ROOT r = f32[7,5] "
     "scatter(x, i, u), "
     "update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "to_apply=add"},
    {"scatter C4",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) u = f32[3,5] parameter(2) ROOT r = f32[7,5] "
     "scatter(x, i, u), "
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, "
     "to_apply=add"},
    {"scatter C5",
     "x = f32[7] parameter(0) ROOT r = f32[7] scatter(x, x), update_window_dims={}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add"},
    {"scatter C6",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) u = f64[4,5] parameter(2) ROOT r = f32[7,5] "
     "scatter(x, i, u), "
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, "
     "to_apply=add"},
    {"scatter C8",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) u = f32[4,5] parameter(2) ROOT r = f32[7,5] "
     "scatter(x, i, u), "
     "update_window_dims={2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, "
     "to_apply=add"},
    {"scatter C19",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) u = f32[4,5] parameter(2) ROOT r = f32[7,5] "
     "scatter(x, i, u), "
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={}, index_vector_dim=1, "
     "to_apply=add"},
    {"scatter C23",
     "x = f32[7,5] parameter(0) i = s32[4,1] parameter(1) u = f32[4,5] parameter(2) ROOT r = f32[7,5] "
     "scatter(x, i, u), "
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, "
     "to_apply=neg"},
    // sort
    {"sort C1", "ROOT r = f32[5] sort(), dimensions={0}, to_apply=lt"},
    {"sort C3",
     "x = f32[5] parameter(0) y = f32[4] parameter(1) ROOT r = f32[5] sort(x, y), dimensions={0}, "
     "to_apply=lt"},
    {"sort C4", "x = f32[5] parameter(0) ROOT r = f32[5] sort(x), dimensions={1}, to_apply=lt"},
    {"sort C5", "x = f32[5] parameter(0) ROOT r = f32[5] sort(x), dimensions={0}, to_apply=add"},
    {"topk H2", "x = f32[5] parameter(0) ROOT r = (f32[6], s32[6]) topk(x), k=6, largest=true"},
    // control, structure
    {"call C1", "x = f32[4] parameter(0) ROOT r = f32[5] call(x), to_apply=neg"},
    {"conditional C2",
     "p = pred[] parameter(0) x = f32[5] parameter(1) ROOT r = f32[5] conditional(p, x), "
     "true_computation=neg, "
     "false_computation=neg"},
    {"conditional C2",
     "p = pred[] parameter(0) x = f32[5] parameter(1) ROOT r = f32[5] conditional(p, x, x), "
     "true_computation=neg, "
     "false_computation=sum"},
    {"conditional C3",
     "i = s32[] parameter(0) x = f32[5] parameter(1) ROOT r = f32[5] conditional(i, x, x), "
     "branch_computations={neg, sum}"},
    {"conditional I1",
     "p = f32[] parameter(0) x = f32[5] parameter(1) ROOT r = f32[5] conditional(p, x), "
     "branch_computations={neg}"},
    {"while C1", "x = f32[5] parameter(0) ROOT r = f32[5] while(x), condition=neg, body=neg"},
    {"while C2", "x = f32[5] parameter(0) ROOT r = f32[5] while(x), condition=true, body=sum"},
    {"fusion H1", "x = f32[4] parameter(0) ROOT r = f32[5] fusion(x), kind=kLoop, calls=neg"},
    {"get-tuple-element C1", "x = (f32[4]) parameter(0) ROOT r = f32[4] get-tuple-element(x), index=1"},
    {"after-all I1", "x = f32[4] parameter(0) ROOT r = token[] after-all(x)"},
    // between devices
    {"all-gather C1",
     "x = f32[4] parameter(0) ROOT r = f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={1}"},
    {"all-gather C2",
     "x = f32[4] parameter(0) ROOT r = f32[8] all-gather(x), replica_groups={{0,1},{1,2}}, dimensions={0}"},
    {"all-gather C4",
     "x = f32[4] parameter(0) ROOT r = f32[8] all-gather(x), replica_groups={{0,-1}}, dimensions={0}"},
    {"all-reduce C1",
     "x = f32[4] parameter(0) ROOT r = f32[4] all-reduce(x), replica_groups={{0,0}}, to_apply=add"},
    {"all-reduce C5",
     "x = f32[4] parameter(0) ROOT r = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=addi"},
    {"reduce-scatter C1",
     "x = f32[5] parameter(0) ROOT r = f32[2] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, "
     "to_apply=add"},
    {"reduce-scatter C2",
     "x = f32[4] parameter(0) ROOT r = f32[2] reduce-scatter(x), replica_groups={{0,1}}, dimensions={1}, "
     "to_apply=add"},
    {"all-to-all C1",
     "x = f32[4] parameter(0) ROOT r = f32[4] all-to-all(x), replica_groups={{0,1}}, dimensions={1}"},
    {"all-to-all C2",
     "x = f32[5] parameter(0) ROOT r = f32[5] all-to-all(x), replica_groups={{0,1}}, dimensions={0}"},
    {"all-to-all C3",
     "x = f32[4] parameter(0) ROOT r = f32[4] all-to-all(x), replica_groups={{0,1}}, dimensions={0,1}"},
    {"collective-permute C2",
     "x = f32[4] parameter(0) ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1},{0,2}}"},
    {"collective-permute C3",
     "x = f32[4] parameter(0) ROOT r = f32[4] collective-permute(x), source_target_pairs={{1,0},{2,0}}"},
    {"collective-permute C4",
     "x = f32[4] parameter(0) ROOT r = f32[4] collective-permute(x), source_target_pairs={{1,-2}}"},
    // libraries
    {"fft C1", "x = c64[4] parameter(0) ROOT r = c64[4] fft(x), fft_type=FFT, fft_length={4,4}"},
    {"fft C2", "x = f32[4] parameter(0) ROOT r = f32[4] fft(x), fft_type=FFT, fft_length={4}"},
    {"fft C3", "x = c64[4] parameter(0) ROOT r = c64[4] fft(x), fft_type=FFT, fft_length={}"},
    {"fft C4", "x = f32[4] parameter(0) ROOT r = c64[3] fft(x), fft_type=RFFT, fft_length={5}"},
    {"fft C5", "x = c64[4] parameter(0) ROOT r = f32[4] fft(x), fft_type=IRFFT, fft_length={4}"},
    {"cholesky C2", "x = f32[4] parameter(0) ROOT r = f32[4] cholesky(x), lower=true"},
    {"cholesky C3", "x = f32[4,3] parameter(0) ROOT r = f32[4,3] cholesky(x), lower=true"},
    {"triangular-solve C1",
     "x = f32[4,4] parameter(0) y = f64[4,4] parameter(1) ROOT r = f64[4,4] triangular-solve(x, y), "
     "left_side=true, "
     "lower=true, transpose_a=NO_TRANSPOSE"},
    {"triangular-solve C3",
     "x = f32[4,4] parameter(0) y = f32[4,3] parameter(1) ROOT r = f32[4,3] triangular-solve(x, y), "
     "left_side=false, "
     "lower=true, transpose_a=NO_TRANSPOSE"},
    {"infeed C3", "t = token[] parameter(0) ROOT r = (f32[4]) infeed(t)"},
    {"broadcast H1",
     "x = f32[] parameter(0) ROOT r = f32[4611686018427387904,9] broadcast(x), dimensions={}"},
};

TEST(OpsConstraints, EachIsNamedByItsLabel) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(absl::StrCat(row.label, ": ", row.body));
    const auto module = ParseHloText(absl::StrCat("HloModule m\n", kRegions, "ENTRY e { ", row.body, " }"));
    if (!module.ok()) {
      // The reader refuses shapes that no machine could hold.
      EXPECT_THAT(row.label, ::testing::HasSubstr("H1")) << module.status();
      continue;
    }
    const absl::Status status = Verify(**module);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(absl::StrCat(row.label, ":")));
  }
}

}  // namespace
}  // namespace shoal
