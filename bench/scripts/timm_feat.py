import timm, torch

m = timm.create_model("resnet10t", features_only=True, out_indices=(1, 2, 3)).eval()

for f in m(torch.randn(2, 3, 64, 64)):
    print(tuple(f.shape))
