#include "sharding/mesh/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

Mesh TwoAxes() { return Mesh{"m", {{"x", 4}, {"y", 6}}, {}}; }

TEST(Axes, AtomsArePrimesMajorToMinor) {
  const Mesh mesh = TwoAxes();
  const AxisList atoms = Atoms(AxisList{WholeAxis(mesh, 1), WholeAxis(mesh, 0)});
  EXPECT_THAT(atoms, ElementsAre(AxisRef{1, 1, 2}, AxisRef{1, 2, 3}, AxisRef{0, 1, 2}, AxisRef{0, 2, 2}));
  EXPECT_THAT(Merged(atoms), ElementsAre(AxisRef{1, 1, 6}, AxisRef{0, 1, 4}));
}

TEST(Axes, OverlapIsThatOfIntervals) {
  EXPECT_TRUE(Overlaps(AxisRef{0, 1, 4}, AxisRef{0, 2, 2}));
  EXPECT_FALSE(Overlaps(AxisRef{0, 1, 2}, AxisRef{0, 2, 2}));
  EXPECT_FALSE(Overlaps(AxisRef{0, 1, 4}, AxisRef{1, 1, 4}));
}

TEST(Axes, PrefixClearOfStopsAtTheFirstUsedAtom) {
  const AxisList list = {{0, 1, 2}, {1, 1, 2}, {0, 2, 2}};
  EXPECT_THAT(PrefixClearOf(list, {{1, 1, 6}}), ElementsAre(AxisRef{0, 1, 2}));
  EXPECT_THAT(Without(list, {{1, 1, 6}}), ElementsAre(AxisRef{0, 1, 2}, AxisRef{0, 2, 2}));
}

TEST(Devices, GroupsAlongAxesOfAPlainMesh) {
  const Mesh mesh{"m", {{"x", 2}, {"y", 3}}, {}};
  EXPECT_THAT(GroupsAlong(mesh, {{1, 1, 3}}), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(GroupsAlong(mesh, {{0, 1, 2}}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
  // y major: the order inside the group follows the list, not the mesh.
  EXPECT_THAT(GroupsAlong(mesh, {{1, 1, 3}, {0, 1, 2}}), ElementsAre(ElementsAre(0, 3, 1, 4, 2, 5)));
}

TEST(Devices, GroupsSpeakOfPartitionsWhereTheMeshIsPermuted) {
  const Mesh mesh{"m", {{"x", 2}, {"y", 2}}, {3, 1, 0, 2}};
  EXPECT_THAT(GroupsAlong(mesh, {{1, 1, 2}}), ElementsAre(ElementsAre(3, 1), ElementsAre(0, 2)));
}

TEST(Devices, GroupsAlongAMinorPartOfAnAxis) {
  const Mesh mesh{"m", {{"x", 8}}, {}};
  EXPECT_THAT(GroupsAlong(mesh, {{0, 4, 2}}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5), ElementsAre(6, 7)));
  EXPECT_THAT(GroupsAlong(mesh, {{0, 1, 2}}),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
}

}  // namespace
}  // namespace shoal
