import math


def mean(data):
    data = list(data)
    return sum(data) / len(data)


fmean = mean


def median(data):
    data = sorted(data)
    n = len(data)
    return data[n // 2] if n % 2 else (data[n // 2 - 1] + data[n // 2]) / 2


def variance(data, xbar=None):
    data = list(data)
    center = mean(data)
    return sum([(x - center) ** 2 for x in data]) / (len(data) - 1)


def stdev(data, xbar=None):
    return math.sqrt(variance(data))


def pstdev(data, mu=None):
    data = list(data)
    center = mean(data)
    return math.sqrt(sum([(x - center) ** 2 for x in data]) / len(data))
