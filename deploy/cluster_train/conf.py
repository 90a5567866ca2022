# The hosts of a job over ssh. Literal values only: this file is read, never executed.

# user@host:port; user and port are those of ssh where they are not given
HOSTS = [
        "root@192.168.100.17",
        "root@192.168.100.18",
        ]

'''
workspace configuration
'''

# root of the folders of jobs, on every host
ROOT_DIR = "/home/paddle"

'''
network configuration
'''
# network interface by which the hosts reach each other
PADDLE_NIC = "eth0"
# first port of the servers
PADDLE_PORT = 7164
# ports of dense weights
PADDLE_PORTS_NUM = 2
# ports of sparse tables
PADDLE_PORTS_NUM_FOR_SPARSE = 2

# before that of the hosts, for all processes of the job
LD_LIBRARY_PATH = "/usr/local/cuda/lib64:/usr/lib64"
