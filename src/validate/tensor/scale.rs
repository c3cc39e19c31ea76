//! Which factor belongs to which elements: one for the whole tensor, one for each row or column, one for each block.

use super::{Dtype, Scale, Tensor, shown};
use crate::model::{Error, Result};

impl<'a> Tensor<'a> {
    /// The same elements, each multiplied by its block's factor before it is compared.
    ///
    /// `block` says how many elements along each of the last axes share a factor (`[1, 128]`; axes before those have a
    /// factor for each index). Without it, the factors' own shape says so: one for all, or as many axes as the tensor has,
    /// of which each divides the tensor's.
    ///
    /// # Errors
    /// The elements are no 8-bit floats; the factors are no floats, or not as many as the blocks.
    pub fn with_scale(mut self, mut factors: Tensor<'a>, block: Option<&[u64]>) -> Result<Self> {
        if !self.dtype.is_float8() {
            return Err(Error::refused(format!("elements of type {} have no factors", self.dtype.name()))
                .hint("leave the scale out: it is for 8-bit floats"));
        }
        // Neither numpy nor older versions of torch have a name for powers of two.
        if factors.dtype == Dtype::U8 {
            factors.dtype = Dtype::F8E8M0;
        }
        if !matches!(factors.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F8E8M0) {
            return Err(Error::refused(format!("factors of type {} are not read", factors.dtype.name()))
                .hint("save them as f32, f16, bf16 or e8m0"));
        }
        let block = match block {
            Some(block) => self.declared_blocks(&factors, block)?,
            None => self.blocks_of(&factors)?,
        };
        self.scale = Some(Box::new(Scale { factors, block }));
        Ok(self)
    }

    fn declared_blocks(&self, factors: &Tensor<'_>, block: &[u64]) -> Result<Vec<u64>> {
        let rank = self.shape.len();
        if block.len() > rank || block.contains(&0) {
            return Err(Error::refused(format!(
                "blocks of {} do not fit a shape of {}",
                shown(block),
                shown(&self.shape)
            ))
            .hint("give as many lengths as the tensor has axes, or fewer, none of them 0"));
        }
        let mut blocks = vec![1; rank - block.len()];
        blocks.extend(block);
        let needed: Vec<u64> =
            self.shape.iter().zip(&blocks).map(|(axis, block)| axis.div_ceil(*block)).collect();
        // Axes of one factor may be written or not.
        let long = |shape: &[u64]| shape.iter().copied().filter(|axis| *axis != 1).collect::<Vec<_>>();
        if long(&needed) != long(&factors.shape) {
            return Err(Error::refused(format!(
                "blocks of {} in a shape of {} need factors of shape {}, and theirs is {}",
                shown(&blocks),
                shown(&self.shape),
                shown(&needed),
                shown(&factors.shape)
            ))
            .hint("factors that were rearranged for the hardware have to be put back in order before they are saved"));
        }
        Ok(blocks)
    }

    fn blocks_of(&self, factors: &Tensor<'_>) -> Result<Vec<u64>> {
        if factors.elements() == 1 {
            return Ok(self.shape.iter().map(|axis| (*axis).max(1)).collect());
        }
        let unclear = || {
            Err(Error::refused(format!(
                "it is not clear which elements share the factors of shape {}: the tensor's shape is {}",
                shown(&factors.shape),
                shown(&self.shape)
            ))
            .hint("say it: --block 1,128 (block = [1, 128] in a gate)"))
        };
        if factors.shape.len() != self.shape.len() {
            return unclear();
        }
        let mut blocks = Vec::new();
        for (axis, count) in self.shape.iter().zip(&factors.shape) {
            match (axis, count) {
                (0, 0) => blocks.push(1),
                (_, 0) => return unclear(),
                (axis, count) if axis % count == 0 => blocks.push((axis / count).max(1)),
                _ => return unclear(),
            }
        }
        Ok(blocks)
    }
}
