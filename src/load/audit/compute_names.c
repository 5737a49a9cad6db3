/* What Lambda layers may use. A list of names that only compute, since what else libraries have can't be listed:
 * torch.sys, np.testing.runstring, tf.compat.v1.write_file. */
#include "load/audit/compute_names.h"

static const char *const words[] = {
    /* modules of functions */
    " K backend ops nn math linalg signal image strings layers activations initializers losses metrics constraints "
    "regularizers functional random fft special numpy jnp lax sparse ragged sets bitwise quantization sort "
    "experimental "
    "keras v2 ",
    /* elementwise */
    " abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin "
    "asinh atan atan2 atanh ceil cbrt clamp clip clip_by_value clip_by_norm conj cos cosh deg2rad digamma div divide "
    "divide_no_nan equal erf erfc erfinv exp exp2 expm1 fix floor floor_div floor_divide floordiv floormod fmax fmin "
    "fmod frexp gcd greater greater_equal heaviside hypot imag invert isclose isfinite isinf isnan ldexp left_shift "
    "less less_equal lerp lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor logit "
    "maximum minimum mod mul multiply multiply_no_nan nan_to_num neg negative nextafter not_equal polyval positive pow "
    "power rad2deg real reciprocal relu remainder right_shift rint round rsqrt sigmoid sign signbit sin sinc sinh "
    "softplus softsign sqrt square squared_difference sub subtract tan tanh true_divide trunc where xlogy zeta i0 i1 ",
    /* reductions */
    " all amax amin any argmax argmin argsort average bincount count_nonzero cummax cummin cumprod cumsum diff "
    "histogram logsumexp max mean median min moments nanmax nanmean nanmin nansum norm normalize percentile prod "
    "quantile reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min "
    "reduce_prod reduce_std reduce_sum reduce_variance segment_max segment_mean segment_min segment_prod segment_sum "
    "std sum top_k topk unique unsorted_segment_max unsorted_segment_mean unsorted_segment_sum var variance std_mean ",
    /* shapes */
    " T arange array array_split asarray as_strided astype atleast_1d atleast_2d atleast_3d batch_flatten "
    "batch_get_value "
    "bool boolean_mask broadcast broadcast_static_shape broadcast_to cast cat chunk concat concatenate contiguous copy "
    "constant convert_to_numpy convert_to_tensor cpu data depth_to_space detach device diag diag_part diagonal dim "
    "dims "
    "double dstack dtype empty empty_like ensure_shape expand expand_as expand_dims eye fill flatten flip fliplr "
    "flipud float full full_like gather gather_nd get_shape half hsplit hstack identity index_select int int_shape "
    "is_tensor "
    "item linspace logspace long map_fn masked_fill masked_select meshgrid moveaxis movedim name narrow ndim ndims "
    "numel "
    "one_hot ones ones_like pad parallel_stack permute permute_dimensions rank ravel repeat repeat_elements "
    "requires_grad "
    "reshape resize resize_images reverse roll rot90 scatter scatter_nd scatter_update searchsorted select "
    "sequence_mask "
    "shape shape_n size slice slice_update space_to_batch space_to_depth sort split split_with_sizes squeeze stack "
    "stop_gradient strided_slice swapaxes t take take_along_axis tensor tensor_scatter_nd_add "
    "tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tile to to_dense "
    "tolist "
    "transpose tri tril triu type type_as unbind unfold unravel_index unsqueeze unstack vander vectorized_map view "
    "view_as vsplit vstack "
    "zeros zeros_like rank as_list ",
    /* linear algebra, convolutions, norms, activations */
    " adaptive_average_pool1d avg_pool avg_pool1d avg_pool2d avg_pool3d average_pool band_part batch_dot "
    "batch_norm batch_normalization bias_add bmm cholesky conv conv1d conv2d conv2d_transpose conv3d conv_transpose "
    "convolution cosine_similarity cross det diag dot dot_product_attention dropout einsum elu embedding "
    "embedding_lookup gelu glu group_norm hard_sigmoid hard_silu hard_swish hard_tanh hardsigmoid hardswish hardtanh "
    "inner instance_norm interpolate inv "
    "inverse kron l2_loss l2_normalize layer_norm leaky_relu leakyrelu linear local_response_normalization log_sigmoid "
    "log_softmax logsigmoid lrn lu_factor matmul matrix_band_part matrix_diag matrix_inverse matrix_transpose matvec "
    "max_pool "
    "max_pool1d max_pool2d max_pool3d mish mm multi_hot mv outer pinv pool prelu qr rms_norm "
    "scaled_dot_product_attention "
    "relu6 selu separable_conv seprable_conv2d silu softmax softmin softshrink sparse_plus squareplus svd swish "
    "tanh_shrink tensordot "
    "threshold trace tensor_diag vdot vecdot with_space_to_batch mse mae cosine binary_crossentropy "
    "categorical_crossentropy sparse_categorical_crossentropy mean_squared_error mean_absolute_error huber ",
    /* images, sounds, texts */
    " adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation affine_transform central_crop "
    "crop_images crop_to_bounding_box extract_patches flip_left_right flip_up_down frame grayscale_to_rgb hsv_to_rgb "
    "ifft irfft istft hann_window hamming_window linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms "
    "overlap_and_add per_image_standardization resize_with_crop_or_pad resize_with_pad rfft rgb_to_grayscale "
    "rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 stft total_variation yuv_to_rgb as_string join length lower "
    "regex_full_match regex_replace strip substr to_hash_bucket to_hash_bucket_fast to_number unicode_decode upper "
    "startswith endswith replace string ",
    /* chance, types, constants, control */
    " bernoulli categorical choice normal permutation rand randint randn random random_normal random_uniform shuffle "
    "stateless_normal stateless_uniform truncated_normal uniform bfloat16 bool_ complex complex64 complex128 float16 "
    "float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8_e4m3fn half inf nan newaxis pi e epsilon "
    "floatx "
    "image_data_format cond while_loop switch case scan associative_scan fori_loop learning_phase in_train_phase "
    "in_test_phase is_keras_tensor is_sparse to_float to_int32 to_int64 ndarray Tensor TensorShape "
    "append extend items keys values get index count insert pop ",
};

bool pel_is_computing(pel_str attribute) {
    if (!attribute.len || memchr(attribute.ptr, ' ', attribute.len)) return false;
    for (size_t i = 0; i < PEL_COUNT(words); i++)
        for (const char *at = words[i]; (at = strchr(at, ' ')) && at[1]; at++)
            if (strncmp(at + 1, attribute.ptr, attribute.len) == 0 && at[1 + attribute.len] == ' ') return true;
    return false;
}
