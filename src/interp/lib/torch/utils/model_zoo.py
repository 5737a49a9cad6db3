from torch.hub import load_state_dict_from_url as load_url
from tqdm import tqdm
