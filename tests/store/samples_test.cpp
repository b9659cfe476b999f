#include "store/samples.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace samples_test {

using Samples = std::vector<double>;

/// Packs, unpacks, and returns the size of the blob.
std::size_t expect_kept(const Samples& samples) {
  const Blob blob = pack_samples(samples);
  const Samples read = unpack_samples(blob);
  EXPECT_EQ(read.size(), samples.size());
  for (std::size_t i = 0; i < std::min(samples.size(), read.size()); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read[i]), std::bit_cast<std::uint64_t>(samples[i])) << samples[i];
  return blob.size();
}

/// What CUDA events give: multiples of 32 ns, as milliseconds in single precision.
Samples event_times(std::size_t count, double median_us, double spread_us, std::mt19937& random) {
  std::normal_distribution<double> normal(median_us, spread_us);
  Samples samples;
  while (samples.size() < count) {
    const double ticks = std::round(normal(random) / 0.032);
    samples.push_back(1000.0 * static_cast<float>(ticks * 0.032e-3));
  }
  return samples;
}

TEST(Samples, EveryDoubleComesBackBitForBit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  constexpr double kLargest = std::numeric_limits<double>::max();
  for (const Samples& samples : std::initializer_list<Samples>{{},
                                                               {0},
                                                               {-0.0},
                                                               {0, -0.0},
                                                               {0.1},
                                                               {0.1, 1e-310, 123456.789, -0.0},
                                                               {kSmallest, 3 * kSmallest},
                                                               {kSmallest, kLargest},
                                                               {kLargest, kLargest, -kLargest},
                                                               {1, kInfinity},
                                                               {-kInfinity, std::nan("1")},
                                                               {9007199254740993.0, 1},
                                                               {-4.5e18, 4.6e18},
                                                               {1.5, -1.5},
                                                               Samples(1000, 12.345)}) {
    expect_kept(samples);
  }
}

TEST(Samples, RandomDoublesComeBackBitForBit) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t mask = ~std::uint64_t{0} << (random() % 53);
    // Equal upper bits, or none: from alike to all over the place.
    const std::uint64_t common = random();
    const auto spread = static_cast<int>(random() % 65);
    Samples samples(random() % 20);
    for (double& sample : samples) {
      const std::uint64_t own = spread == 64 ? random() : random() & ((std::uint64_t{1} << spread) - 1);
      sample = std::bit_cast<double>((common ^ own) & mask);
    }
    expect_kept(samples);
  }
}

TEST(Samples, TheyTakeNoMoreThanDoublesAndLessWhereTheyAreAlike) {
  std::mt19937 random(1);
  EXPECT_LE(expect_kept(event_times(30, 2650, 5, random)), 240U * 3 / 4);
  EXPECT_LE(expect_kept(event_times(10000, 20, 0.1, random)), 80000U / 3);
  EXPECT_LE(expect_kept(Samples(30, 1980)), 20U);
  EXPECT_EQ(expect_kept(Samples(7, 1980)), 57U) << "too few to be worth the time";
}

TEST(Samples, TheLayoutIsTheDocumentedOne) {
  EXPECT_EQ(pack_samples({-0.0}), (Blob{0, 0, 0, 0, 0, 0, 0, 0, 0x80}));
  const Blob packed = pack_samples(Samples(300, 2.5));
  EXPECT_EQ((Blob{packed.begin(), packed.begin() + 3}), (Blob{3, 300 % 256, 1}));
  Samples unpacked(300);
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, -15), Z_OK);
  stream.next_in = const_cast<Bytef*>(packed.data() + 3);
  stream.avail_in = static_cast<uInt>(packed.size() - 3);
  stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_out = static_cast<uInt>(unpacked.size() * sizeof(double));
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  EXPECT_EQ(unpacked, Samples(300, 2.5));
}

TEST(Samples, MoreThanCanBeUnpackedAreKeptAsDoubles) {
  EXPECT_LE(expect_kept(Samples(1 << 14, 1)), 1000U);
  EXPECT_EQ(expect_kept(Samples((1 << 14) + 1, 1)), ((1U << 14) + 1) * 8 + 1);
}

std::string refusal(const Blob& blob) {
  return error_of([&] { unpack_samples(blob); });
}

TEST(Samples, BrokenBlobsAreRefused) {
  for (const auto& [blob, parts] :
       std::vector<std::pair<Blob, std::vector<std::string>>>{{{}, {"too early"}},
                                                              {{9}, {"layout 9"}},
                                                              {{0, 1, 2, 3}, {"3 bytes"}},
                                                              {{1, 0, 1, 0, 1}, {"layout 1"}},
                                                              {{2, 0, 3, 1, 0, 0}, {"layout 2"}},
                                                              {{3, 1}, {"too early"}},
                                                              {{3, 0, 0, 3, 0}, {"5 bytes", "0 samples"}},
                                                              {{3, 1, 0, 3, 0}, {"5 bytes", "1 samples"}},
                                                              {{3, 1, 0, 0xFF}, {"4 bytes", "1 samples"}},
                                                              {{3, 1, 0x40}, {"16385", "16384"}}}) {
    EXPECT_TRUE(carries(refusal(blob), parts));
  }
}

/// Whatever the bytes say, reading them ends in samples or in a UserError.
TEST(Samples, CutOffAndAlteredBlobsDoNoHarm) {
  std::mt19937 random(5);
  const Blob whole = pack_samples(event_times(30, 2650, 5, random));
  ASSERT_EQ(whole.front(), 3) << "packed";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Blob cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal(cut), "no error") << size;
  }
  for (int round = 0; round < 20000; ++round) {
    Blob altered = whole;
    for (int i = 0; i < 3; ++i) altered[random() % 12] = static_cast<std::uint8_t>(random());
    try {
      unpack_samples(altered);
    } catch (const UserError&) {
    }
  }
}

}  // namespace samples_test
}  // namespace tiletune
