#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t word, int by) { return word << by | word >> (32 - by); }

static void add_block(uint32_t h[8], const unsigned char *block) {
    /* the constants are the fractional bits of roots of the first primes */
    static const uint32_t k[64] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
                                    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
                                    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
                                    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
                                    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
                                    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
                                    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
                                    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
                                    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
                                    0xc67178f2 };
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 25) ^ rotate(w[i - 15], 14) ^ (w[i - 15] >> 3);
        uint32_t s1 = rotate(w[i - 2], 15) ^ rotate(w[i - 2], 13) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 26) ^ rotate(v[4], 21) ^ rotate(v[4], 7), choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t one = v[7] + s1 + choice + k[i] + w[i];
        uint32_t s0 = rotate(v[0], 30) ^ rotate(v[0], 19) ^ rotate(v[0], 10),
                 most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + s0 + most;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

void pel_sha256_begin(pel_sha256 *sum) {
    *sum = (pel_sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                                0x5be0cd19 } };
}

void pel_sha256_add(pel_sha256 *sum, pel_str bytes) {
    size_t held = sum->size % 64, at = 0;
    sum->size += bytes.len;
    if (held) {
        at = bytes.len < 64 - held ? bytes.len : 64 - held;
        memcpy(sum->rest + held, bytes.ptr, at);
        if (held + at < 64) return;
        add_block(sum->h, sum->rest);
    }
    for (; bytes.len - at >= 64; at += 64) add_block(sum->h, (const unsigned char *)bytes.ptr + at);
    if (at < bytes.len) memcpy(sum->rest, bytes.ptr + at, bytes.len - at);
}

void pel_sha256_end(pel_sha256 *sum, char digits[PEL_SHA256_DIGITS + 1]) {
    static const char mark[64] = { (char)0x80 };
    uint64_t bits = sum->size * 8;
    size_t held = sum->size % 64;
    pel_sha256_add(sum, (pel_str){ mark, held < 56 ? 56 - held : 120 - held });
    char length[8];
    for (int i = 0; i < 8; i++) length[i] = (char)(bits >> (56 - 8 * i));
    pel_sha256_add(sum, (pel_str){ length, 8 });
    for (int i = 0; i < 8; i++) snprintf(digits + 8 * i, 9, "%08x", sum->h[i]);
}
