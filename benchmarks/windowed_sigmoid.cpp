// The rational form of the windowed sigmoid as a plain loop: what a C++ compiler makes of it, with all its liberties.
// candidates lie in tiles [tiles][windows][128]; windows is even.
#include <algorithm>
#include <thread>
#include <vector>

constexpr int TILE = 128;

static void score(const float* tiles, const float* queries, float* out, long Q, long W, long C, long first, long last) {
  for (long t = first; t < last; ++t) {
    const float* tile = tiles + t * W * TILE;
    for (long q = 0; q < Q; ++q) {
      float total[TILE] = {0};
      const float* a = queries + q * W;
      for (long j = 0; j + 1 < W; j += 2) {
        const float *left = tile + j * TILE, *right = left + TILE;
        for (int e = 0; e < TILE; ++e) {
          float u = a[j] * left[e], v = a[j + 1] * right[e], s = u + v;
          total[e] += (2.0f + s) / (1.0f + s + u * v);
        }
      }
      long width = std::min<long>(TILE, C - t * TILE);
      std::copy(total, total + width, out + q * C + t * TILE);
    }
  }
}

extern "C" void windowed_sigmoid(const float* tiles, const float* queries, float* out, long Q, long W, long C, long threads) {
  long count = (C + TILE - 1) / TILE;
  std::vector<std::thread> workers;
  for (long n = 0; n < threads; ++n)
    workers.emplace_back(score, tiles, queries, out, Q, W, C, count * n / threads, count * (n + 1) / threads);
  for (auto& worker : workers) worker.join();
}
