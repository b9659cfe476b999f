// What inputs hold, element by element: the same numbers on every GPU and on the host, which compiles this
// file too. The distributions have the order of the enumeration in spec/element_type.h.

// splitmix64 (Steele, Lea, Flood 2014): a bijection of the counter, so every element has its own value.
HOST_DEVICE inline u64 mixed(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Uniform in [0, 1), of 24 bits, which a float holds exactly.
HOST_DEVICE inline double unit_of(u64 bits) { return double(bits >> 40) * (1.0 / 16777216.0); }

// Box and Muller's transformation of two uniform numbers.
HOST_DEVICE inline double normal_at(u64 counter) {
  const u64 first = mixed(counter);
  const double radius = (double(first >> 11) + 0.5) * (1.0 / 9007199254740992.0);
  return sqrt(-2.0 * log(radius)) * cos(6.283185307179586 * unit_of(mixed(first)));
}

// A Feistel network permutes the numbers of an even number of bits; one that leaves the range is sent through
// again, which keeps it a permutation (Black and Rogaway 2002, "cycle walking").
HOST_DEVICE inline u64 permuted(u64 n, u64 count, u64 seed) {
  int half = 1;
  while (half < 31 && (1ull << (2 * half)) < count) ++half;
  const u64 mask = (1ull << half) - 1;
  do {
    u64 left = n >> half;
    u64 right = n & mask;
    for (u64 round = 0; round < 4; ++round) {
      const u64 next = left ^ (mixed(seed ^ (round << 60) ^ right) & mask);
      left = right;
      right = next;
    }
    n = left << half | right;
  } while (n >= count);
  return n;
}

HOST_DEVICE inline double value_at(int distribution, double a, double b, u64 seed, u64 count, u64 n) {
  switch (distribution) {
    case 0:  // uniform
      return a + (b - a) * unit_of(mixed(seed + n));
    case 1:  // normal
      return a + b * normal_at(seed + n);
    case 2:  // constant
      return a;
    case 3:  // iota
      return a + b * double(n);
    case 4:  // randint
      return a + floor((b - a) * (double(mixed(seed + n) >> 11) * (1.0 / 9007199254740992.0)));
    case 5:  // permutation
      return double(permuted(n, count, seed));
    case 7: {  // spread
      const u64 bits = mixed(seed + n);
      const double size = exp2(a + (b - a) * unit_of(bits));
      return bits & 1 ? -size : size;
    }
    case 8: {  // alternating
      const double size = a + (b - a) * unit_of(mixed(seed + n / 2));
      return n & 1 ? -size : size;
    }
    case 9: {  // special
      const u64 bits = mixed(seed + n);
      if (double(bits & 0xffffff) * a >= 16777216.0) return 2 * unit_of(bits) - 1;
      const double infinite = exp2(2000.0);
      const u64 kind = bits >> 62;
      return kind == 0 ? infinite : kind == 1 ? -infinite : kind == 2 ? 0 : infinite - infinite;
    }
  }
  // offsets: each at most half a step from where equal rows would begin.
  if (n == 0) return 0;
  if (n + 1 == count) return a;
  return floor(a * (double(n) - 0.5 + unit_of(mixed(seed + n))) / double(count - 1));
}
