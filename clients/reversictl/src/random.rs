//! A small generator of random numbers, for backoff and for random moves: good enough to spread, and the same for
//! the same seed.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from the seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed from the system's randomness.
    pub fn fresh_seed() -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().0 ^ uuid::Uuid::new_v4().as_u64_pair().1.rotate_left(32)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0. The bias is at most `n` in 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A number from 0 up to, but not including, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
