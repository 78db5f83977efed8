// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// options: -std=c++17
// expect: 42 10 0
// one module: ptxi frees only what the same module has allocated
// Memory of new, in all its forms, lives in the device from one region to the
// next.
#include <cstdio>

#pragma omp declare target
struct node {
    int value;
    node *next;
    node(int v, node *n) : value(v), next(n) {}
    ~node() { value = -1; }
};
struct alignas(64) line {
    int words[16];
};
#pragma omp end declare target

int main()
{
    node *list = nullptr;
    double *numbers = nullptr;
    int sum = 0, total = 0, wrong = 1;
#pragma omp target map(list, numbers)
    {
        list = new node(40, nullptr);
        list = new node(2, list);
        numbers = new double[5];
        for (int i = 0; i < 5; i++)
            numbers[i] = i;
    }
#pragma omp target map(sum, total, wrong) firstprivate(list, numbers)
    {
        for (node *n = list; n; n = n->next)
            sum += n->value;
        for (int i = 0; i < 5; i++)
            total += (int)numbers[i];
        delete list->next;
        delete list;
        delete[] numbers;
        line *lines = new line[2];
        wrong = (unsigned long)lines % 64 != 0;
        delete[] lines;
        node *none = nullptr;
        delete none;
    }
    std::printf("%d %d %d\n", sum, total, wrong);
}
