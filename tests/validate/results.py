def quick_sweep(row, name, suffix): print(row)
def write(): pass
