/* Which operators an ONNX graph may have. Those of the standard only compute. Runtimes bring their own, some of which
 * run Python or load libraries: of those, the ones that compute are listed here. */
#include "load/onnx_ops.h"

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
        const char *domain, *known; /* NULL: all of them compute */
    } rows[] = {
        { "", NULL },
        { "ai.onnx", NULL },
        { "ai.onnx.ml", NULL },
        { "ai.onnx.training", NULL },
        { "ai.onnx.preview.training", NULL },
        { "com.microsoft", microsoft },
        { "com.microsoft.nchwc", microsoft },
        { "com.ms.internal.nhwc", NULL },
        { "ai.onnx.contrib", extensions },
    };
    bool is_python = pel_str_starts(op, PEL_STR("PyOp")) || pel_str_starts(op, PEL_STR("PythonOp")) ||
                     pel_str_starts(op, PEL_STR("PyCustomOp"));
    if (is_python) return PEL_OP_RUNS;
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(domain, rows[i].domain))
            return !rows[i].known || has_word(rows[i].known, op) ? PEL_OP_COMPUTES : PEL_OP_UNKNOWN;
    return PEL_OP_FOREIGN;
}
