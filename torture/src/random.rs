//! Random numbers: the same for the same seed, and independent ones for each part of a run.

use std::time::Duration;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Those of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Others, which follow from this one's next number.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Whether something happens that does in so many of a hundred cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A time from `least` to `most` milliseconds.
    pub fn millis(&mut self, least: usize, most: usize) -> Duration {
        Duration::from_millis((least + self.below(most - least + 1)) as u64)
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Brings them into another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A fresh request id.
    pub fn request_id(&mut self) -> String {
        uuid::Builder::from_random_bytes(
            (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes(),
        )
        .into_uuid()
        .to_string()
    }
}
