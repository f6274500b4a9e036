//! The events of a commit, packed: pairs of varints (7 bits per byte, lowest first, high bit = more
//! follows), the step of the item's number, zigzag-coded, then the event's.

use armarius_core::ids::ItemId;

pub(crate) fn to_bytes(refs: &[(ItemId, i64)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(refs.len() * 4);
    let mut before = 0_i64;
    for (item, n) in refs {
        let step = item.0.wrapping_sub(before);
        push(&mut bytes, (step << 1 ^ step >> 63).cast_unsigned());
        push(&mut bytes, n.cast_unsigned());
        before = item.0;
    }
    bytes
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Vec<(ItemId, i64)>> {
    let mut refs = Vec::with_capacity(bytes.len() / 2);
    let mut rest = bytes.iter();
    let mut before = 0_i64;
    while !rest.as_slice().is_empty() {
        let step = pull(&mut rest)?;
        let step = (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
        before = before.wrapping_add(step);
        refs.push((ItemId(before), pull(&mut rest)?.cast_signed()));
    }
    Some(refs)
}

fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap_or_default());
}

fn pull(rest: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = rest.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_read_back() {
        let refs = [(5, 1), (5, 2), (1 << 48, 9), (3, i64::MAX), (i64::MIN, 0), (i64::MAX, 7)];
        let refs = refs.map(|(item, n)| (ItemId(item), n));
        assert_eq!(from_bytes(&to_bytes(&refs)), Some(refs.to_vec()));
        assert_eq!(from_bytes(&[]), Some(Vec::new()));
        assert_eq!(from_bytes(&[0x80]), None);
        assert_eq!(from_bytes(&[2]), None);
    }
}
