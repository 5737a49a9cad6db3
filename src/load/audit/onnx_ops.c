/* Which operators an ONNX graph may have: lists of those that only compute. The standard's are all that its schemas
 * have had in any version (onnx 1.22), and those that runtimes kept from before it. Runtimes bring more, some of which
 * run Python or load libraries. */
#include "load/audit/onnx_ops.h"

static const char standard[] =
    " Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool "
    "BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow "
    "Cast CastLike CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence "
    "Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv "
    "DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand "
    "EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid "
    "HardSwish Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization "
    "LeakyRelu Less LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul "
    "MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish "
    "Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional "
    "OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear "
    "RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal "
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT "
    "Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
    "SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax "
    "SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat "
    "StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu "
    "Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor Affine ConstantFill Crop DynamicSlice "
    "GRUUnit GivenTensorFill ImageScaler ParametricSoftplus Scale ScaledTanh SimplifiedLayerNormalization ";
static const char learning[] =
    " ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer "
    "LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler "
    "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap ";
static const char training[] = " Adagrad Adam Gradient Momentum FlexAttention ";

static const char microsoft[] =
    " Attention AttnLSTM BeamSearch BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu BifurcationDetector "
    "BitmaskBiasDropout BitmaskDropout CDist ComplexMul ComplexMulConj ConvTransposeWithDynamicPads CropAndResize "
    "DecoderAttention DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention DequantizeBFP DequantizeLinear "
    "DequantizeWithOrder DynamicQuantizeLSTM DynamicQuantizeMatMul DynamicTimeWarping EmbedLayerNormalization "
    "ExpandDims FastGelu FusedConv FusedGemm FusedMatMul FusedMatMulActivation GatedRelativePositionBias "
    "GatherBlockQuantized GatherND Gelu GemmFastGelu GemmFloat8 GemmaRotaryEmbedding GreedySearch GridSample GroupNorm "
    "GroupQueryAttention Inverse Irfft LinearAttention LongformerAttention MatMulBnb4 MatMulFpQ4 MatMulInteger16 "
    "MatMulInteger MatMulIntegerToFloat MatMulNBits MaxpoolWithMask MoE MulInteger MultiHeadAttention MurmurHash3 "
    "NGramRepeatBlock NhwcConv NhwcFusedConv NhwcMaxPool PackedAttention PackedMultiHeadAttention Pad PagedAttention "
    "QAttention QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv "
    "QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearReduceMean QLinearSigmoid QLinearSoftmax QLinearWhere "
    "QMoE QOrderedAttention QOrderedGelu QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul "
    "QuantizeBFP QuantizeLinear QuantizeWithOrder QuickGelu Range ReduceSumInteger RelativePositionBias "
    "RemovePadding RestorePadding Rfft RotaryEmbedding SampleOp Sampling SkipGroupNorm SkipLayerNormalization "
    "SkipSimplifiedLayerNormalization SimplifiedLayerNormalization SparseAttention SparseToDenseMatMul Tokenizer "
    "TransposeMatMul Trilu UnfoldTensor Unique WhisperBeamSearch WordConvEmbedding ";
static const char extensions[] =
    " AudioDecoder BasicTokenizer BertTokenizer BertTokenizerDecoder BlingFireSentenceBreaker BpeDecoder CLIPTokenizer "
    "DecodeImage DrawBoundingBoxes EncodeImage FastBlackBoxToken GPT2Tokenizer GaussianBlur HfBertTokenizer "
    "HfJsonTokenizer ImageDecoder ImageReader Inverse MaskedFill MelSpectrogram NegPos RaggedTensorToDense "
    "RaggedTensorToSparse RobertaTokenizer SegmentExtraction SegmentSum SentencepieceDecoder SentencepieceTokenizer "
    "StftNorm StringConcat StringConcatWithSeparator StringECMARegexReplace StringECMARegexSplitWithOffsets "
    "StringEqual StringHash StringHashFast StringJoin StringLength StringLower StringMapping StringRegexReplace "
    "StringRegexSplitWithOffsets StringSlice StringSplit StringStrip StringToCategory StringToHashBucket "
    "StringToHashBucketFast StringToVector StringUpper T5Tokenizer TrieDetokenizer TrieTokenizer VectorToString "
    "WordpieceTokenizer XlmRobertaTokenizer ";

static bool has_word(const char *words, pel_str word) {
    if (!word.len || memchr(word.ptr, ' ', word.len)) return false;
    for (const char *at = words; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, word.ptr, word.len) == 0 && at[1 + word.len] == ' ') return true;
    return false;
}

pel_onnx_op pel_judge_onnx_op(pel_str domain, pel_str op) {
    static const struct {
        const char *domain, *known;
    } rows[] = {
        { "", standard },
        { "ai.onnx", standard },
        { "ai.onnx.ml", learning },
        { "ai.onnx.training", training },
        { "ai.onnx.preview", training },
        { "ai.onnx.preview.training", training },
        { "com.microsoft", microsoft },
        { "com.microsoft.nchwc", microsoft },
        { "com.ms.internal.nhwc", standard },
        { "ai.onnx.contrib", extensions },
        { "com.microsoft.extensions", extensions },
        { "org.pytorch.aten", " " }, /* any operator of torch, by its name */
    };
    bool is_python = pel_str_starts(op, PEL_STR("PyOp")) || pel_str_starts(op, PEL_STR("PythonOp")) ||
                     pel_str_starts(op, PEL_STR("PyCustomOp"));
    if (is_python) return PEL_OP_RUNS;
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(domain, rows[i].domain)) return has_word(rows[i].known, op) ? PEL_OP_COMPUTES : PEL_OP_UNKNOWN;
    return PEL_OP_FOREIGN;
}
