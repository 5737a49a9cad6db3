"""WaveNet with weight_norm and cached receptive field; an attention decoder that steps through time with LSTM cells."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm


def fused_add_tanh_sigmoid_multiply(input_a, input_b, n_channels):
    in_act = input_a + input_b
    t_act = torch.tanh(in_act[:, :n_channels, :])
    s_act = torch.sigmoid(in_act[:, n_channels:, :])
    return t_act * s_act


class WN(nn.Module):
    def __init__(self, hidden_channels, kernel_size, dilation_rate, n_layers, gin_channels=0, p_dropout=0.0):
        super().__init__()
        assert kernel_size % 2 == 1
        self.hidden_channels = hidden_channels
        self.n_layers = n_layers
        self.gin_channels = gin_channels
        self.in_layers = nn.ModuleList()
        self.res_skip_layers = nn.ModuleList()
        self.drop = nn.Dropout(p_dropout)
        if gin_channels != 0:
            self.cond_layer = weight_norm(nn.Conv1d(gin_channels, 2 * hidden_channels * n_layers, 1), name="weight")
        for i in range(n_layers):
            dilation = dilation_rate ** i
            padding = int((kernel_size * dilation - dilation) / 2)
            in_layer = nn.Conv1d(hidden_channels, 2 * hidden_channels, kernel_size, dilation=dilation, padding=padding)
            self.in_layers.append(weight_norm(in_layer, name="weight"))
            res_skip_channels = 2 * hidden_channels if i < n_layers - 1 else hidden_channels
            self.res_skip_layers.append(weight_norm(nn.Conv1d(hidden_channels, res_skip_channels, 1), name="weight"))

    def forward(self, x, x_mask, g=None, **kwargs):
        output = torch.zeros_like(x)
        n_channels_tensor = torch.IntTensor([self.hidden_channels])
        if g is not None:
            g = self.cond_layer(g)
        for i in range(self.n_layers):
            x_in = self.in_layers[i](x)
            if g is not None:
                cond_offset = i * 2 * self.hidden_channels
                g_l = g[:, cond_offset:cond_offset + 2 * self.hidden_channels, :]
            else:
                g_l = torch.zeros_like(x_in)
            acts = fused_add_tanh_sigmoid_multiply(x_in, g_l, n_channels_tensor[0])
            acts = self.drop(acts)
            res_skip_acts = self.res_skip_layers[i](acts)
            if i < self.n_layers - 1:
                res_acts = res_skip_acts[:, :self.hidden_channels, :]
                x = (x + res_acts) * x_mask
                output = output + res_skip_acts[:, self.hidden_channels:, :]
            else:
                output = output + res_skip_acts
        return output * x_mask


def wavenet():
    lengths = torch.tensor([12, 9])
    mask = (torch.arange(12)[None] < lengths[:, None]).float()[:, None]
    return WN(8, 3, 2, 3, gin_channels=4, p_dropout=0.1), (torch.randn(2, 8, 12), mask, torch.randn(2, 4, 1))


class LinearNorm(torch.nn.Module):
    def __init__(self, in_dim, out_dim, bias=True, w_init_gain="linear"):
        super().__init__()
        self.linear_layer = torch.nn.Linear(in_dim, out_dim, bias=bias)
        torch.nn.init.xavier_uniform_(self.linear_layer.weight, gain=torch.nn.init.calculate_gain(w_init_gain))

    def forward(self, x):
        return self.linear_layer(x)


class LocationLayer(nn.Module):
    def __init__(self, attention_n_filters, attention_kernel_size, attention_dim):
        super().__init__()
        padding = int((attention_kernel_size - 1) / 2)
        self.location_conv = nn.Conv1d(2, attention_n_filters, attention_kernel_size, padding=padding, bias=False)
        self.location_dense = LinearNorm(attention_n_filters, attention_dim, bias=False, w_init_gain="tanh")

    def forward(self, attention_weights_cat):
        processed_attention = self.location_conv(attention_weights_cat)
        processed_attention = processed_attention.transpose(1, 2)
        return self.location_dense(processed_attention)


class LocationAttention(nn.Module):
    def __init__(self, query_dim, memory_dim, attention_dim):
        super().__init__()
        self.query_layer = LinearNorm(query_dim, attention_dim, bias=False, w_init_gain="tanh")
        self.memory_layer = LinearNorm(memory_dim, attention_dim, bias=False, w_init_gain="tanh")
        self.v = LinearNorm(attention_dim, 1, bias=False)
        self.location_layer = LocationLayer(4, 5, attention_dim)
        self.score_mask_value = -float("inf")

    def get_alignment_energies(self, query, processed_memory, attention_weights_cat):
        processed_query = self.query_layer(query.unsqueeze(1))
        processed_attention_weights = self.location_layer(attention_weights_cat)
        energies = self.v(torch.tanh(processed_query + processed_attention_weights + processed_memory))
        return energies.squeeze(-1)

    def forward(self, hidden, memory, processed_memory, attention_weights_cat, mask):
        alignment = self.get_alignment_energies(hidden, processed_memory, attention_weights_cat)
        if mask is not None:
            alignment.data.masked_fill_(mask, self.score_mask_value)
        attention_weights = F.softmax(alignment, dim=1)
        attention_context = torch.bmm(attention_weights.unsqueeze(1), memory).squeeze(1)
        return attention_context, attention_weights


class Decoder(nn.Module):
    """Keeps its state in attributes while it steps, as the original does."""

    def __init__(self, memory_dim=6, n_mel=4, rnn_dim=8):
        super().__init__()
        self.n_mel, self.rnn_dim, self.memory_dim = n_mel, rnn_dim, memory_dim
        self.prenet = nn.ModuleList([LinearNorm(n_mel, 5, bias=False), LinearNorm(5, 5, bias=False)])
        self.attention_rnn = nn.LSTMCell(5 + memory_dim, rnn_dim)
        self.attention_layer = LocationAttention(rnn_dim, memory_dim, 7)
        self.linear_projection = LinearNorm(rnn_dim + memory_dim, n_mel)
        self.gate_layer = LinearNorm(rnn_dim + memory_dim, 1, bias=True, w_init_gain="sigmoid")

    def initialize_decoder_states(self, memory, mask):
        B = memory.size(0)
        MAX_TIME = memory.size(1)
        self.attention_hidden = memory.new_zeros(B, self.rnn_dim)
        self.attention_cell = memory.new_zeros(B, self.rnn_dim)
        self.attention_weights = memory.new_zeros(B, MAX_TIME)
        self.attention_weights_cum = memory.new_zeros(B, MAX_TIME)
        self.attention_context = memory.new_zeros(B, self.memory_dim)
        self.memory = memory
        self.processed_memory = self.attention_layer.memory_layer(memory)
        self.mask = mask

    def decode(self, decoder_input):
        cell_input = torch.cat((decoder_input, self.attention_context), -1)
        self.attention_hidden, self.attention_cell = self.attention_rnn(
            cell_input, (self.attention_hidden, self.attention_cell))
        attention_weights_cat = torch.cat(
            (self.attention_weights.unsqueeze(1), self.attention_weights_cum.unsqueeze(1)), dim=1)
        self.attention_context, self.attention_weights = self.attention_layer(
            self.attention_hidden, self.memory, self.processed_memory, attention_weights_cat, self.mask)
        self.attention_weights_cum += self.attention_weights
        both = torch.cat((self.attention_hidden, self.attention_context), dim=1)
        return self.linear_projection(both), self.gate_layer(both), self.attention_weights

    def forward(self, memory, decoder_inputs, memory_lengths):
        decoder_inputs = decoder_inputs.transpose(0, 1)
        x = torch.cat((decoder_inputs.new_zeros(1, decoder_inputs.size(1), self.n_mel), decoder_inputs), dim=0)
        for linear in self.prenet:
            x = F.relu(linear(x))
        ids = torch.arange(0, memory.size(1), device=memory_lengths.device)
        self.initialize_decoder_states(memory, mask=~(ids < memory_lengths.unsqueeze(1)))
        mel_outputs, gate_outputs, alignments = [], [], []
        while len(mel_outputs) < x.size(0) - 1:
            mel_output, gate_output, attention_weights = self.decode(x[len(mel_outputs)])
            mel_outputs += [mel_output.squeeze(1)]
            gate_outputs += [gate_output.squeeze(1)]
            alignments += [attention_weights]
        return torch.stack(mel_outputs).transpose(0, 1), torch.stack(gate_outputs).T, torch.stack(alignments)


def tacotron_decoder():
    return Decoder(), (torch.randn(2, 6, 6), torch.randn(2, 3, 4), torch.tensor([6, 4]))


class MelFront(nn.Module):
    """numpy in __init__ and in forward."""

    def __init__(self, n_fft=16, hop=4, n_mels=5):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        window = np.hanning(n_fft).astype(np.float32)
        self.register_buffer("window", torch.from_numpy(window), persistent=False)
        basis = np.abs(np.random.RandomState(0).randn(n_mels, n_fft // 2 + 1)).astype(np.float32)
        self.register_buffer("mel_basis", torch.from_numpy(basis))

    def forward(self, audio):
        pad = int((self.n_fft - self.hop) / 2)
        y = F.pad(audio.unsqueeze(1), (pad, pad), mode="reflect").squeeze(1)
        spec = torch.stft(y, self.n_fft, hop_length=self.hop, win_length=self.n_fft, window=self.window, center=False,
                          return_complex=True)
        magnitudes = torch.sqrt(spec.real.pow(2) + spec.imag.pow(2) + 1e-9)
        scale = float(np.log(10.0))
        return torch.log(torch.clamp(self.mel_basis @ magnitudes, min=1e-5)) / scale


def mel_front():
    return MelFront(), (torch.randn(2, 64),)
