//! Files of tensors, written by hand: no numpy is needed.

/// A `.npy` file, version 1.
pub fn npy(descr: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    let axes = shape.iter().fold(String::new(), |text, axis| text + &axis.to_string() + ", ");
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// A safetensors file: names, types, shapes, bytes.
pub fn safetensors(tensors: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let (mut members, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let from = data.len();
        data.extend_from_slice(bytes);
        let to = data.len();
        members.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{from},{to}]}}"#
        ));
    }
    let header = format!("{{{}}}", members.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// The bytes of f32 elements.
pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes of f64 elements.
pub fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes of bf16 elements, rounded to nearest, ties to even.
pub fn bf16s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| half::bf16::from_f64(*value).to_le_bytes()).collect()
}

/// Values around 0 of this size, the same in every run.
pub fn noise(seed: u64, count: usize, size: f64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // Four uniform ones are nearly normal.
    (0..count).map(|_| (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.73 * size).collect()
}
