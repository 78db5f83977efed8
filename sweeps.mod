!mod$ v1 sum:9f2184b347118b63
module sweeps
contains
subroutine sweep(a,mask)
real(8),intent(inout)::a(:,:)
logical(4),intent(in),optional::mask(:)
end
subroutine stay(x,first)
integer(4),intent(inout)::x(:)
integer(4),intent(out)::first(1_8:2_8)
end
function total(b)
integer(4),intent(in)::b(:,:,:)
integer(4)::total
end
end
