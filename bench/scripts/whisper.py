import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

m = WhisperForConditionalGeneration(
    WhisperConfig(
        d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=100, num_mel_bins=8, max_source_positions=20,
        max_target_positions=30, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None,
    )
).eval()

with torch.no_grad():
    print(m(input_features=torch.randn(1, 8, 40), decoder_input_ids=torch.tensor([[3, 5, 6]])).logits.shape)
