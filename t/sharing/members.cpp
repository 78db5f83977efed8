// expect: 4 4 6
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The members of the program's only object of a class are mapped by its
 * constructor, used and brought back by virtual functions, and unmapped by its
 * destructor. Nothing is copied.
 */
#include <memory>
#include <vector>
#include "sharing.h"

struct stream {
    virtual ~stream() = default;
    virtual void add() = 0;
    virtual void get(const double *&x, const double *&y) = 0;
};

template <class T> struct device_stream : stream {
    long n;
    T *x, *y;
    device_stream(long size, T first);
    ~device_stream() override;
    void add() override;
    void get(const double *&hx, const double *&hy) override;
};

template <class T>
device_stream<T>::device_stream(long size, T first) : n(size)
{
    this->x = (T *)aligned_alloc(64, sizeof(T) * (size_t)size);
    this->y = (T *)aligned_alloc(64, sizeof(T) * (size_t)size);
    T *x = this->x, *y = this->y;
#pragma omp target enter data map(alloc : x[0 : size], y[0 : size])
#pragma omp target teams distribute parallel for
    for (long i = 0; i < size; i++) {
        x[i] = first;
        y[i] = 2 * first;
    }
}

template <class T> device_stream<T>::~device_stream()
{
    long n = this->n;
    T *x = this->x, *y = this->y;
#pragma omp target exit data map(release : x[0 : n], y[0 : n])
    free(x);
    free(y);
}

template <class T> void device_stream<T>::add()
{
    long n = this->n;
    T *x = this->x, *y = this->y;
#pragma omp target teams distribute parallel for
    for (long i = 0; i < n; i++)
        y[i] += x[i];
}

template <class T>
void device_stream<T>::get(const double *&hx, const double *&hy)
{
    long n = this->n;
    T *x = this->x, *y = this->y;
#pragma omp target update from(x[0 : n], y[0 : n])
    hx = x;
    hy = y;
}

static std::unique_ptr<stream> make(int which, const long &n, double first)
{
    if (which)
        return std::make_unique<device_stream<double>>(n, first);
    return nullptr;
}

static int run(int which)
{
    long n = 0;
    sscanf("4096", "%ld", &n);
    std::unique_ptr<stream> s = make(which, n, 4);
    const double *x = nullptr, *y = nullptr;
    std::vector<double> sums;
    s->add();
    s->get(x, y);
    printf("%g ", x[5]);
    sums.push_back(y[5] - 8);
    printf("%g ", sums[0]);
    s->add();
    s->get(x, y);
    printf("%g\n", (x[7] + y[7]) / 20 * 6);
    return 0;
}

int main(int argc, char **)
{
    return run(argc);
}
