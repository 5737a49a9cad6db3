# A skeleton of hf/bert:MaskedLM, made by pellucid with Python 3.11.7, torch 2.13.0+cpu, transformers 5.22.2.
# Use: model = BertForMaskedLM(); model.load_state_dict(original.state_dict())
# Verification: bit-equal on the recorded input, other data, other batch sizes, other lengths, train mode, gradients

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn


class BertEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("position_ids", torch.arange(128).view(1, 128), persistent=False)
        self.register_buffer("token_type_ids", torch.zeros(1, 128, dtype=torch.int64), persistent=False)
        self.word_embeddings = nn.Embedding(512, 64, padding_idx=0)
        self.position_embeddings = nn.Embedding(128, 64)
        self.token_type_embeddings = nn.Embedding(2, 64)
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, input_ids):
        input_shape = input_ids.size()
        batch_size, seq_length = input_shape
        position_ids = self.position_ids[:, :seq_length]
        buffered_token_type_ids = self.token_type_ids.expand(position_ids.shape[0], -1)
        buffered_token_type_ids = torch.gather(buffered_token_type_ids, dim=1, index=position_ids)
        token_type_ids = buffered_token_type_ids.expand(batch_size, seq_length)
        inputs_embeds = self.word_embeddings(input_ids)
        token_type_embeddings = self.token_type_embeddings(token_type_ids)
        embeddings = inputs_embeds + token_type_embeddings
        position_embeddings = self.position_embeddings(position_ids)
        return self.dropout(self.LayerNorm(embeddings + position_embeddings))


def sdpa_attention_forward(query, key, value, dropout):
    attn_output = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, scale=0.25)
    return attn_output.transpose(1, 2).contiguous()


class BertSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(64, 64)
        self.key = nn.Linear(64, 64)
        self.value = nn.Linear(64, 64)

    def forward(self, hidden_states):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, 16)
        query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
        key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
        value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
        attn_output = sdpa_attention_forward(
            query_layer, key_layer, value_layer, dropout=0.0 if not self.training else 0.1
        )
        return attn_output.reshape(*input_shape, -1).contiguous()


class BertSelfOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(64, 64)
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dropout(self.dense(hidden_states))
        return self.LayerNorm(hidden_states + input_tensor)


class BertAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.self = BertSelfAttention()
        self.output = BertSelfOutput()

    def forward(self, hidden_states):
        return self.output(self.self(hidden_states), hidden_states)


class GELUActivation(nn.Module):
    def forward(self, input):
        return F.gelu(input)


class BertIntermediate(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(64, 128)
        self.intermediate_act_fn = GELUActivation()

    def forward(self, hidden_states):
        return self.intermediate_act_fn(self.dense(hidden_states))


class BertOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(128, 64)
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dropout(self.dense(hidden_states))
        return self.LayerNorm(hidden_states + input_tensor)


class BertLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = BertAttention()
        self.intermediate = BertIntermediate()
        self.output = BertOutput()

    def forward(self, hidden_states):
        return self.feed_forward_chunk(self.attention(hidden_states))

    def feed_forward_chunk(self, attention_output):
        return self.output(self.intermediate(attention_output), attention_output)


class BertEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList([BertLayer() for _ in range(2)])

    def forward(self, hidden_states):
        for layer_module in self.layer:
            hidden_states = layer_module(hidden_states)
        return hidden_states


class BertModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = BertEmbeddings()
        self.encoder = BertEncoder()

    def forward(self, input_ids):
        return self.encoder(self.embeddings(input_ids))


class BertPredictionHeadTransform(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(64, 64)
        self.transform_act_fn = GELUActivation()
        self.LayerNorm = nn.LayerNorm(64, eps=1e-12)

    def forward(self, hidden_states):
        return self.LayerNorm(self.transform_act_fn(self.dense(hidden_states)))


class BertLMPredictionHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.empty(512))
        self.transform = BertPredictionHeadTransform()
        self.decoder = nn.Linear(64, 512)

    def forward(self, hidden_states):
        return self.decoder(self.transform(hidden_states))


class BertOnlyMLMHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictions = BertLMPredictionHead()

    def forward(self, sequence_output):
        return self.predictions(sequence_output)


class ModelOutput(dict):
    def __post_init__(self):
        self.update((k, v) for k, v in vars(self).items() if v is not None)

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self):
        return tuple(self.values())


@dataclasses.dataclass
class MaskedLMOutput(ModelOutput):
    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    hidden_states: torch.Tensor | None = None
    attentions: torch.Tensor | None = None


class BertForMaskedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel()
        self.cls = BertOnlyMLMHead()
        self.cls.predictions.decoder.weight = self.bert.embeddings.word_embeddings.weight
        self.cls.predictions.decoder.bias = self.cls.predictions.bias

    def forward(
        self, input_ids=None, attention_mask=None, token_type_ids=None, position_ids=None, inputs_embeds=None,
        encoder_hidden_states=None, encoder_attention_mask=None, labels=None,
    ):
        assert (
            attention_mask is token_type_ids is position_ids is inputs_embeds is encoder_hidden_states
            is encoder_attention_mask is labels is None
        ), "not recorded with these arguments"
        sequence_output = self.bert(input_ids)
        return MaskedLMOutput(logits=self.cls(sequence_output))
