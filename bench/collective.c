/* All-reduce of float32 as a C program does it, for comparison: arguments are bytes and repetitions; rank 0 prints a JSON line with the
   mean of all ranks' medians. What is not the call is as in collective-rank.mjs: the thread level, the barrier, memory on a page of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  int rank, size, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  size_t bytes = strtoul(argv[1], NULL, 10);
  int repetitions = atoi(argv[2]), warm = repetitions / 5 + 3;
  float *values = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  memset(values, 0, bytes);
  double *times = malloc(repetitions * sizeof(double));
  for (int i = -warm; i < repetitions; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, values, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (i >= 0) times[i] = (MPI_Wtime() - start) * 1e3;
  }
  qsort(times, repetitions, sizeof(double), by_size);
  double ms = times[repetitions / 2] / size;
  MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"ranks\":%d,\"bytes\":%zu,\"ms\":%.4f}\n", size, bytes, ms);
  MPI_Finalize();
  return 0;
}
